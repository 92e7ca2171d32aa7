public import PushModel

/// What became of one push attempt, as the transport reports it.
public struct PushAnswer: Sendable, Equatable {
    public enum Result: Sendable, Equatable {
        /// A status came. `reason` is empty when there was none; `timestampMillis` comes with 410.
        case response(status: UInt16, reason: String, timestampMillis: Int64?, retryAfterSeconds: Int64?)
        /// 200, the common case.
        case accepted
        /// REFUSED_STREAM, above GOAWAY's last stream, or never written: APNs did not process it.
        case notProcessed
        /// Connection lost, reset or timed out after the request left: nobody knows.
        case unknown(detail: String)
    }
    public var id: PushID
    public var result: Result
    /// From the request's headers leaving to this answer, in microseconds.
    public var apnsMicros: Int64

    public init(id: PushID, result: Result, apnsMicros: Int64) {
        self.id = id
        self.result = result
        self.apnsMicros = apnsMicros
    }
}
