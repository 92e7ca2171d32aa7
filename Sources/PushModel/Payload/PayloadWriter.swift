/// Writes the body of a Live Activity push: `{"aps":{…}}` (Apple: "Starting and updating Live Activities with
/// ActivityKit push notifications"). The parts are copied byte for byte. Nothing is parsed or checked again.
public enum PayloadWriter {
    /// Apple's maximum number of bytes for the body of a push to a device. It also applies to Live Activities.
    public static let payloadByteCountMax = 4_096
    /// Maximum number of bytes of a broadcast's payload (Apple: "Sending broadcast push notification requests to
    /// APNs").
    public static let broadcastByteCountMax = 5_120
    /// Maximum number of bytes of a Live Activity's content (Apple: "Displaying live data with Live Activities", 4 KB).
    /// It matters only for broadcasts, because other bodies have the same limit.
    public static let contentStateByteCountMax = 4_096
    /// Maximum number of bytes of a body that are not copied from the event's value: names, brackets, stamp and dates.
    public static let framingByteCountMax = 320

    /// Maximum number of bytes of the body for an event with this target.
    public static func payloadByteCountMax(for target: EventTarget) -> Int {
        switch target {
        case .channel: Self.broadcastByteCountMax
        case .activity, .audience, .token, .startToken: Self.payloadByteCountMax
        }
    }

    /// Appends the push's body to `body`. Nothing is allocated apart from `body`'s own growth.
    ///
    /// - Parameters:
    ///   - kind: `start`, `update` or `end`.
    ///   - stampSeconds: `aps.timestamp`, seconds since 1970.
    ///   - content: what the push carries. Its ranges must be inside `source`.
    ///   - alert: the JSON object; empty when there is no alert.
    public static func append(
        kind: EventKind, stampSeconds: Int64, content: PayloadContent, source: Span<UInt8>, alert: Span<UInt8>,
        to body: inout [UInt8]
    ) {
        unsafe withUnsafeTemporaryAllocation(of: UInt8.self, capacity: ByteCursor.stackByteCount) { memory in
            var sink = unsafe BodySink(cursor: ByteCursor(memory))
            swap(&sink.body, &body)
            Self.write(kind, stampSeconds, content, source, alert, into: &sink)
            sink.cursor.flush(to: &sink.body)
            swap(&sink.body, &body)
        }
    }

    /// Number of bytes that `append` would add with the same arguments.
    public static func byteCount(
        kind: EventKind, stampSeconds: Int64, content: PayloadContent, source: Span<UInt8>, alert: Span<UInt8>
    ) -> Int {
        var count = ByteCounter()
        Self.write(kind, stampSeconds, content, source, alert, into: &count)
        return count.byteCount
    }

    /// Writes the body to `sink`. The same function writes and counts, so that the two always agree.
    private static func write<Sink: PayloadSink & ~Copyable>(
        _ kind: EventKind, _ stampSeconds: Int64, _ content: PayloadContent, _ source: Span<UInt8>,
        _ alert: Span<UInt8>,
        into sink: inout Sink
    ) {
        switch kind {
        case .start: sink.put("{\"aps\":{\"event\":\"start\",\"timestamp\":")
        case .update: sink.put("{\"aps\":{\"event\":\"update\",\"timestamp\":")
        case .end: sink.put("{\"aps\":{\"event\":\"end\",\"timestamp\":")
        case .register, .unregister, .open: preconditionFailure("a \(kind) is not pushed")
        }
        sink.put(number: stampSeconds)
        if !content.contentState.isEmpty {
            sink.put(",\"content-state\":")
            sink.put(source.extracting(content.contentState.range))
        }
        if kind == .start { Self.writeStart(content, source, into: &sink) }
        if !alert.isEmpty {
            sink.put(",\"alert\":")
            sink.put(alert)
        }
        if let staleDateSeconds = content.staleDateSeconds {
            sink.put(",\"stale-date\":")
            sink.put(number: staleDateSeconds)
        }
        if kind == .end, let dismissalDateSeconds = content.dismissalDateSeconds {
            sink.put(",\"dismissal-date\":")
            sink.put(number: dismissalDateSeconds)
        }
        if !content.relevanceScore.isEmpty {
            sink.put(",\"relevance-score\":")
            sink.put(source.extracting(content.relevanceScore.range))
        }
        sink.put("}}")
    }

    private static func writeStart<Sink: PayloadSink & ~Copyable>(
        _ content: PayloadContent, _ source: Span<UInt8>, into sink: inout Sink
    ) {
        if !content.attributesType.isEmpty {
            sink.put(",\"attributes-type\":")
            sink.put(source.extracting(content.attributesType.range))
        }
        if !content.attributes.isEmpty {
            sink.put(",\"attributes\":")
            sink.put(source.extracting(content.attributes.range))
        }
        if content.inputPushToken { sink.put(",\"input-push-token\":1") }
        if !content.inputPushChannel.isEmpty {
            sink.put(",\"input-push-channel\":")
            sink.put(source.extracting(content.inputPushChannel.range))
        }
    }
}

/// Takes a payload's bytes, or only counts them. The compiler knows the concrete type at every use in this module.
private protocol PayloadSink: ~Copyable {
    mutating func put(_ text: StaticString)
    mutating func put(_ bytes: Span<UInt8>)
    mutating func put(number: Int64)
}

/// Writes to memory on the stack, where most bodies fit, and appends that to the body at the end. Longer parts are
/// appended directly.
private struct BodySink: ~Copyable, PayloadSink {
    /// Number of bytes that stay free on the stack after each copied part, for all names, signs and numbers of a body.
    /// These have at most 252 bytes.
    static var fixedByteCountMax: Int { 384 }

    var cursor: ByteCursor
    var body: [UInt8] = []

    init(cursor: consuming ByteCursor) { self.cursor = cursor }

    @inline(__always) mutating func put(_ text: StaticString) { self.cursor.append(text) }
    @inline(__always) mutating func put(number: Int64) { self.cursor.append(decimal: number) }

    mutating func put(_ bytes: Span<UInt8>) {
        if bytes.count <= self.cursor.roomCount - Self.fixedByteCountMax {
            self.cursor.append(bytes)
        } else {
            self.cursor.flush(to: &self.body)
            self.body.append(copying: bytes)
        }
    }
}

private struct ByteCounter: PayloadSink {
    var byteCount = 0
    @inline(__always) mutating func put(_ text: StaticString) { self.byteCount &+= text.utf8CodeUnitCount }
    @inline(__always) mutating func put(_ bytes: Span<UInt8>) { self.byteCount &+= bytes.count }
    @inline(__always) mutating func put(number: Int64) { self.byteCount &+= DecimalDigits.count(number) }
}
