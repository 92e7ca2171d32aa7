import PushModel

/// One event's content while it waits to reach the device. Its bytes are copied once, out of the record, into `blob`.
struct Layer {
    /// Which record it came from; outcomes name it.
    var source = SourcePosition(topic: 0, partition: 0, offset: 0)
    /// Grows from event to event of this engine.
    var arrival: UInt64 = 0
    /// Seconds; what "newest" is judged by, before arrival.
    var timestampSeconds: Int64 = 0
    /// The wire stamp is not below this: the newest event time of all that went into the push. Differs for an `end` that is older.
    var stampFloorSeconds: Int64 = 0
    /// The record's time, milliseconds since 1970.
    var recordMillis: Int64 = 0
    /// When it was taken, steady.
    var takenMillis: Int64 = 0
    /// Seconds since 1970 after which it must not be sent; `Int64.max`: never.
    var expiresSeconds: Int64 = .max
    /// As given with the event (`apns-expiration`); `nil`: the default for the kind.
    var expirationHeaderSeconds: Int64?
    var isEnd = false
    /// An attempt to send it, or what it replaced, got no answer, or an owner before may have sent it: it may be on the phone already.
    var mayBeSent = false
    /// The event is the `start` itself.
    var isStart = false
    /// A state record that holds it has been written: no ledger entry guards its outcome any more.
    var isWritten = false
    /// It had an alert, its own or another's, and that was withdrawn.
    var alertIsWithdrawn = false
    /// The alert in `blob` came with another event that this one replaced.
    var alertIsInherited = false
    /// The same of the content-state, which only an `end` takes over, and of the relevance-score with it.
    var contentIsInherited = false
    var scoreIsInherited = false
    var staleDateIsInherited = false
    /// What happens to the event is told. Not written down: whoever keeps its trace is this process.
    var isTraced = false
    /// Timestamps of the events that alert and content-state came with: the device would have ignored them after something newer.
    var alertSeconds: Int64 = 0
    var contentSeconds: Int64 = 0
    var content = PayloadContent()
    var alert = ByteRange()
    var eventID = ByteRange()
    /// Of an event that is traced with its `tracestate` behind it: see `TraceContext.headerByteCount(ofCarried:isTraced:)`.
    var traceparent = ByteRange()
    /// The bytes the ranges above lie in.
    var blob: [UInt8] = []

    /// What of it is written down. The next owner does not go on with the trace, and so not with `tracestate`: what is restored is as what is not traced.
    var keptTraceparent: ByteRange {
        let range = self.traceparent
        let count = TraceContext.headerByteCount(ofCarried: Int(range.count), isTraced: self.isTraced)
        return ByteRange(start: Int(range.start), count: count)
    }

    var hasInherited: Bool {
        self.alertIsInherited || self.contentIsInherited || self.scoreIsInherited || self.staleDateIsInherited
    }

    /// Something of what it says was taken over from the older event, or from one that event has it from.
    func isShared(with older: Layer) -> Bool {
        self.contentIsInherited && self.contentSeconds == older.contentSeconds || self.sharesAlert(with: older)
    }
    /// The same of the alert alone.
    func sharesAlert(with older: Layer) -> Bool {
        self.alertIsInherited && !older.alert.isEmpty && self.alertSeconds == older.alertSeconds
            && self.blob[self.alert.range] == older.blob[older.alert.range]
    }

    /// From when on the content is stale, seconds since 1970; `Int64.max`: never. What a broken record of `state` says is held within bounds.
    @inline(__always) var staleSeconds: Int64 {
        guard let seconds = self.content.staleDateSeconds, seconds <= StateCodec.timeSecondsMax else { return .max }
        return max(0, seconds)
    }

    /// It expires by its stale date, as an app may want it.
    var isExpiredByStaleDate: Bool {
        self.expirationHeaderSeconds == nil && self.expiresSeconds == self.content.staleDateSeconds
    }

    /// Copies `bytes` behind what the blob holds.
    mutating func append(_ bytes: Span<UInt8>) -> ByteRange {
        guard !bytes.isEmpty else { return ByteRange() }
        let start = self.blob.count
        self.blob.append(copying: bytes)
        return ByteRange(start: start, count: bytes.count)
    }

    /// Which of the bytes are said, and whose they are. Saved before a merge that may turn out too large.
    struct Parts {
        var content: PayloadContent
        var alert: ByteRange
        var alertIsInherited, contentIsInherited, scoreIsInherited, staleDateIsInherited: Bool
        var alertSeconds, contentSeconds: Int64
    }

    var parts: Parts {
        get {
            Parts(
                content: self.content, alert: self.alert, alertIsInherited: self.alertIsInherited,
                contentIsInherited: self.contentIsInherited, scoreIsInherited: self.scoreIsInherited,
                staleDateIsInherited: self.staleDateIsInherited,
                alertSeconds: self.alertSeconds, contentSeconds: self.contentSeconds)
        }
        set {
            self.content = newValue.content
            self.alert = newValue.alert
            self.alertIsInherited = newValue.alertIsInherited
            self.contentIsInherited = newValue.contentIsInherited
            self.scoreIsInherited = newValue.scoreIsInherited
            self.staleDateIsInherited = newValue.staleDateIsInherited
            self.alertSeconds = newValue.alertSeconds
            self.contentSeconds = newValue.contentSeconds
        }
    }

    /// Gives back what came from an event that is older than one the device has.
    mutating func dropInherited(olderThan seconds: Int64) {
        if self.alertIsInherited, self.alertSeconds < seconds {
            self.alert = ByteRange()
            self.alertIsInherited = false
        }
        if self.contentIsInherited, self.contentSeconds < seconds {
            self.content.contentState = ByteRange()
            self.contentIsInherited = false
            if self.scoreIsInherited { self.content.relevanceScore = ByteRange() }
            self.scoreIsInherited = false
            if self.staleDateIsInherited { self.content.staleDateSeconds = nil }
            self.staleDateIsInherited = false
        }
    }

    /// Gives up the bytes that no range covers any more: an alert that is taken over and given back with every attempt would pile up
    /// otherwise. Moves the ranges, so not between saving `parts` and putting them back.
    mutating func dropUncoveredBytes() {
        let covered =
            self.content.contentState.count + self.content.attributesType.count + self.content.attributes.count
            + self.content.relevanceScore.count + self.content.inputPushChannel.count + self.alert.count
            + self.eventID.count + self.traceparent.count
        guard self.blob.count > Int(covered) else { return }
        let old = self.blob
        self.blob = []
        self.blob.reserveCapacity(Int(covered))
        self.content.contentState = self.append(old.span.extracting(self.content.contentState.range))
        self.content.attributesType = self.append(old.span.extracting(self.content.attributesType.range))
        self.content.attributes = self.append(old.span.extracting(self.content.attributes.range))
        self.content.relevanceScore = self.append(old.span.extracting(self.content.relevanceScore.range))
        self.content.inputPushChannel = self.append(old.span.extracting(self.content.inputPushChannel.range))
        self.alert = self.append(old.span.extracting(self.alert.range))
        self.eventID = self.append(old.span.extracting(self.eventID.range))
        self.traceparent = self.append(old.span.extracting(self.traceparent.range))
    }

    /// Takes over what it lacks from the event it replaces: the alert, and, as an `end`, the content.
    mutating func inherit(from older: Layer) {
        if self.isEnd, self.content.contentState.isEmpty, !older.content.contentState.isEmpty {
            self.content.contentState = self.append(older.blob.span.extracting(older.content.contentState.range))
            self.contentIsInherited = true
            self.contentSeconds = older.contentSeconds
            if self.content.relevanceScore.isEmpty {
                self.content.relevanceScore = self.append(
                    older.blob.span.extracting(older.content.relevanceScore.range))
                self.scoreIsInherited = true
            }
            if self.content.staleDateSeconds == nil {
                self.content.staleDateSeconds = older.content.staleDateSeconds
                self.staleDateIsInherited = true
            }
        }
        if self.alert.isEmpty, !older.alert.isEmpty {
            self.alert = self.append(older.blob.span.extracting(older.alert.range))
            self.alertIsInherited = true
            self.alertSeconds = older.alertSeconds
        }
    }

    /// So much of a blob is asked for ahead, the array's header included; of a longer one the processor sees by itself how it goes on.
    static var prefetchedBlobByteCount: Int { 320 }

    /// Puts the layer back to nothing; the blob keeps its storage unless it is large.
    mutating func reset() {
        var blob: [UInt8] = []
        swap(&blob, &self.blob)
        blob.removeAll(keepingCapacity: blob.capacity <= Self.keptByteCountMax)
        self = Layer()
        swap(&blob, &self.blob)
    }

    /// Makes this the layer of an update, in place of one with which it goes out of date. Only that an attempt of the former may have
    /// arrived, and the latest stamp it stands for, remain.
    mutating func replace(
        with event: borrowing DecodedEvent, value: Span<UInt8>, traceparent: Span<UInt8>, isTraced: Bool,
        source: SourcePosition,
        arrival: UInt64, timestampSeconds: Int64, recordMillis: Int64, takenMillis: Int64, expiresSeconds: Int64
    ) {
        self.source = source
        self.arrival = arrival
        self.timestampSeconds = timestampSeconds
        self.stampFloorSeconds = max(self.stampFloorSeconds, timestampSeconds)
        self.recordMillis = recordMillis
        self.takenMillis = takenMillis
        self.expiresSeconds = expiresSeconds
        self.expirationHeaderSeconds = event.expiresSeconds
        self.isEnd = false
        self.isStart = false
        self.isWritten = false
        self.alertIsWithdrawn = false
        self.alertIsInherited = false
        self.contentIsInherited = false
        self.scoreIsInherited = false
        self.staleDateIsInherited = false
        self.isTraced = isTraced
        self.alertSeconds = timestampSeconds
        self.contentSeconds = timestampSeconds
        self.content = PayloadContent()
        self.content.staleDateSeconds = event.staleDateSeconds
        self.content.dismissalDateSeconds = event.dismissalDateSeconds
        let byteCount =
            Int(event.contentStateInValue.count) + Int(event.relevanceScoreInValue.count)
            + Int(event.alertInValue.count) + Int(event.eventIDInText.count) + traceparent.count
        if byteCount != self.blob.count {
            self.blob.removeAll(keepingCapacity: self.blob.capacity <= Self.keptByteCountMax)
        }
        // Of the same length as what lies there, as the updates of an activity often are, it is written over that.
        var end = 0
        self.content.contentState = self.put(value.extracting(event.contentStateInValue.range), at: &end)
        self.content.relevanceScore = self.put(value.extracting(event.relevanceScoreInValue.range), at: &end)
        self.alert = self.put(value.extracting(event.alertInValue.range), at: &end)
        self.eventID = self.put(event.text.span.extracting(event.eventIDInText.range), at: &end)
        self.traceparent = self.put(traceparent, at: &end)
    }

    /// Copies `bytes` to where `end` stands: over what the blob holds there, which is long enough, or behind its last byte.
    @inline(__always) private mutating func put(_ bytes: Span<UInt8>, at end: inout Int) -> ByteRange {
        // Most events lack most parts.
        bytes.isEmpty ? ByteRange() : self.putBytes(bytes, at: &end)
    }

    private mutating func putBytes(_ bytes: Span<UInt8>, at end: inout Int) -> ByteRange {
        let start = end
        end += bytes.count
        if start == self.blob.count {
            self.blob.append(copying: bytes)
        } else {
            unsafe self.blob.withUnsafeMutableBufferPointer { target in
                precondition(end <= target.count, "a part past the end")
                unsafe bytes.withUnsafeBufferPointer { source in
                    // The part lies within the blob, and neither is empty.
                    unsafe (target.baseAddress! + start).update(from: source.baseAddress!, count: source.count)
                }
            }
        }
        return ByteRange(start: start, count: bytes.count)
    }

    /// A blob that has grown past this is given back rather than kept for the next event.
    static let keptByteCountMax = 4_096
}

/// What a `start` brings that later updates do not replace. Present only while the start is unsent or in flight.
struct StartPart {
    /// Raw push-to-start token.
    var token: [UInt8]
    var environment: PushEnvironment
    /// Bytes of `attributes-type`, `attributes` and `input-push-channel`.
    var blob: [UInt8]
    /// Only the start's own ranges, into `blob`, and `inputPushToken`.
    var content: PayloadContent
    /// Seconds since 1970: a start not sent by then is not sent.
    var expiresSeconds: Int64
}
