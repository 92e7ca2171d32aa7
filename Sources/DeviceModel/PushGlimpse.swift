/// What is known of a request to a phone before anything of it is copied: enough to decide whether it is worth a copy.
public struct PushGlimpse: Sendable, Equatable {
    /// When, by the simulator's clock, milliseconds since 1970.
    public var atMillis: Int64
    /// HTTP status of the answer; `nil`: it was never answered, or the push had waited for the phone and was answered long ago.
    public var status: Int?
    /// What became of it on the phone.
    public var phone: ObservedPush.Phone

    /// - Parameters:
    ///   - atMillis: milliseconds since 1970.
    ///   - status: `nil`: none now.
    ///   - phone: what became of it there.
    public init(atMillis: Int64, status: Int?, phone: ObservedPush.Phone) {
        self.atMillis = atMillis
        self.status = status
        self.phone = phone
    }
}
