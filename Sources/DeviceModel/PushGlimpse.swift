/// What is known of a request to a phone before anything is copied: enough to decide whether a copy is worthwhile.
public struct PushGlimpse: Sendable, Equatable {
    /// The time by the simulator's clock, milliseconds since 1970.
    public var atMillis: Int64
    /// HTTP status of the answer; `nil` if it was never answered, or the push had waited for the phone and was answered
    /// long ago.
    public var status: Int?
    /// The result of the push on the phone.
    public var phone: ObservedPush.Phone
    /// Whether the push had waited for the phone to return.
    public var hadWaited: Bool

    /// - Parameters:
    ///   - atMillis: milliseconds since 1970.
    ///   - status: `nil` if there is none now.
    ///   - phone: the result of the push on the phone.
    ///   - hadWaited: whether the push had waited for the phone to return.
    public init(atMillis: Int64, status: Int?, phone: ObservedPush.Phone, hadWaited: Bool) {
        self.atMillis = atMillis
        self.status = status
        self.phone = phone
        self.hadWaited = hadWaited
    }
}
