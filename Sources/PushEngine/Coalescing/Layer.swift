import PushModel

/// One event's content while it waits to reach the device. Its bytes are copied once, out of the record, into `blob`.
struct Layer {
    /// The record that the event is from. Outcomes name it.
    var source = SourcePosition(topic: 0, partition: 0, offset: 0)
    /// Number of the event's arrival. It grows from event to event of this engine. Events from `state` all have 0: they
    /// arrived before all others, and count as having arrived in the order of their times.
    var arrival: UInt64 = 0
    /// The event's time in seconds. The event with the latest time is the newest; among equal times, the one that
    /// arrived last.
    var timestampSeconds: Int64 = 0
    /// The lowest stamp that the push may have: the time of the newest event merged into the push. This event's own time
    /// may be earlier if it is an `end` that replaced a newer event, or if its time is not known.
    var stampFloorSeconds: Int64 = 0
    /// The record's time, milliseconds since 1970.
    var recordMillis: Int64 = 0
    /// When the event was taken (steady clock).
    var takenMillis: Int64 = 0
    /// Seconds since 1970 from which on the event must not be sent; `Int64.max`: it does not expire.
    var expiresSeconds: Int64 = .max
    /// The event's own value for the header `apns-expiration`; `nil`: the default of its kind.
    var expirationHeaderSeconds: Int64?
    var isEnd = false
    /// Whether the event may be on the phone already. An attempt to send it, or to send an event that it replaced, got
    /// no answer. Or a former owner may have sent it.
    var mayBeSent = false
    /// Whether the event is the `start` itself.
    var isStart = false
    /// Whether a state record that holds the event has been written. If so, no ledger entry guards the event's outcome.
    var isWritten = false
    /// Whether an alert of the event was withdrawn: its own, or an alert taken over from another event.
    var alertIsWithdrawn = false
    /// Whether the alert in `blob` is from an event that this one replaced.
    var alertIsInherited = false
    /// Whether the content-state is from an event that this one replaced. Only an `end` takes it over.
    var contentIsInherited = false
    /// Whether the relevance-score was taken over together with the content-state.
    var scoreIsInherited = false
    /// Whether the stale date was taken over together with the content-state.
    var staleDateIsInherited = false
    /// Whether what happens to the event is traced. This is not written down, because only this process keeps the
    /// trace.
    var isTraced = false
    /// Timestamp of the event that the alert is from. An alert that was taken over is dropped if it is older than what
    /// the device has (`dropInherited`).
    var alertSeconds: Int64 = 0
    /// Timestamp of the event that the content-state is from. A content-state that was taken over is dropped like an
    /// alert.
    var contentSeconds: Int64 = 0
    var content = PayloadContent()
    var alert = ByteRange()
    var eventID = ByteRange()
    /// The value of the header `traceparent`. In a traced event its `tracestate` follows: see
    /// `TraceContext.headerByteCount(ofCarried:isTraced:)`.
    var traceparent = ByteRange()
    /// The bytes that the ranges above refer to.
    var blob: [UInt8] = []

    /// The part of `traceparent` that is written down. The next owner does not continue the trace, so it needs no
    /// `tracestate`. A restored event is like one without a trace.
    var keptTraceparent: ByteRange {
        let range = self.traceparent
        let count = TraceContext.headerByteCount(ofCarried: Int(range.count), isTraced: self.isTraced)
        return ByteRange(start: Int(range.start), count: count)
    }

    var hasInherited: Bool {
        self.alertIsInherited || self.contentIsInherited || self.scoreIsInherited || self.staleDateIsInherited
    }

    /// Whether this event's content-state or alert was taken over from the older event, or both events took it over
    /// from the same one.
    func isShared(with older: Layer) -> Bool {
        self.contentIsInherited && self.contentSeconds == older.contentSeconds || self.sharesAlert(with: older)
    }
    /// Whether this event's alert was taken over from the older event, or both events took it over from the same one.
    func sharesAlert(with older: Layer) -> Bool {
        self.alertIsInherited && !older.alert.isEmpty && self.alertSeconds == older.alertSeconds
            && self.blob[self.alert.range] == older.blob[older.alert.range]
    }

    /// When the content becomes stale, seconds since 1970; `Int64.max`: never. A time from a broken record of `state`
    /// is limited to possible values.
    @inline(__always) var staleSeconds: Int64 {
        guard let seconds = self.content.staleDateSeconds, seconds <= StateCodec.timeSecondsMax else { return .max }
        return max(0, seconds)
    }

    /// Whether the event's stale date is also its expiry, as an app may configure.
    var isExpiredByStaleDate: Bool {
        self.expirationHeaderSeconds == nil && self.expiresSeconds == self.content.staleDateSeconds
    }

    /// Appends `bytes` to the blob.
    mutating func append(_ bytes: Span<UInt8>) -> ByteRange {
        guard !bytes.isEmpty else { return ByteRange() }
        let start = self.blob.count
        self.blob.append(copying: bytes)
        return ByteRange(start: start, count: bytes.count)
    }

    /// The ranges of all parts, and the times of the events that they are from. They are saved before a merge whose
    /// result may turn out too large.
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

    /// Drops parts that were taken over from an event older than `seconds`.
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

    /// Removes the bytes that no range covers. An alert may be taken over and given back at every attempt, and its
    /// copies would pile up otherwise. This method changes the ranges, so it must not run between saving `parts` and
    /// putting them back.
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

    /// Takes over parts that this event lacks from the event that it replaces: the alert, and for an `end` the content.
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

    /// Number of bytes of a blob that are prefetched, including the array's header. The processor itself prefetches the
    /// rest of a longer blob.
    static var prefetchedBlobByteCount: Int { 320 }

    /// Resets the layer. The blob keeps its storage, unless that is large.
    mutating func reset() {
        var blob: [UInt8] = []
        swap(&blob, &self.blob)
        blob.removeAll(keepingCapacity: blob.capacity <= Self.keptByteCountMax)
        self = Layer()
        swap(&blob, &self.blob)
    }

    /// Makes this the layer of an event that replaces the present one and expires no sooner. `mayBeSent` stays as it
    /// is, and `stampFloorSeconds` never falls.
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
        // Parts of the same length as before are written over the old bytes. Updates of one activity often have equal
        // lengths.
        var end = 0
        self.content.contentState = self.put(value.extracting(event.contentStateInValue.range), at: &end)
        self.content.relevanceScore = self.put(value.extracting(event.relevanceScoreInValue.range), at: &end)
        self.alert = self.put(value.extracting(event.alertInValue.range), at: &end)
        self.eventID = self.put(event.text.span.extracting(event.eventIDInText.range), at: &end)
        self.traceparent = self.put(traceparent, at: &end)
    }

    /// Copies `bytes` to `end`: over bytes that the blob has there, or behind its last byte.
    @inline(__always) private mutating func put(_ bytes: Span<UInt8>, at end: inout Int) -> ByteRange {
        // The check comes first, because most events lack most parts.
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
                    // The part is within the blob, and neither is empty.
                    unsafe (target.baseAddress! + start).update(from: source.baseAddress!, count: source.count)
                }
            }
        }
        return ByteRange(start: start, count: bytes.count)
    }

    /// Capacity in bytes up to which a blob's storage is kept for the next event. Larger storage is freed.
    static let keptByteCountMax = 4_096
}

/// The parts of a `start` that later updates do not replace. They exist only while the start is unsent or in flight.
struct StartPart {
    /// The raw push-to-start token.
    var token: [UInt8]
    var environment: PushEnvironment
    /// The bytes of `attributes-type`, `attributes` and `input-push-channel`.
    var blob: [UInt8]
    /// The ranges of the start's own parts in `blob`, and `inputPushToken`. All other parts are empty.
    var content: PayloadContent
    /// When the start expires if it is still unsent, seconds since 1970.
    var expiresSeconds: Int64
}
