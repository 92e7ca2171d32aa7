/// What a push asks the device to do (`aps.event`).
public enum PushEvent: UInt8, Sendable, CaseIterable {
    /// Puts up a new card, changes one, or ends one.
    case start, update, end
}

/// The content of one Live Activity push, as ranges into its body. `PayloadReader` reads it.
///
/// An empty range means that the key is absent: each of these values has at least two bytes when present.
public struct PushContent: Equatable, Sendable {
    /// `aps.event`.
    public var event: PushEvent = .update
    /// `aps.timestamp`, seconds since 1970.
    public var stampSeconds: Int64 = 0
    /// The object `aps.content-state`, braces included.
    public var contentState: Range<Int> = 0..<0
    /// The object `aps.alert`, braces included.
    public var alert: Range<Int> = 0..<0
    /// The string `aps.attributes-type`, quotes included.
    public var attributesType: Range<Int> = 0..<0
    /// The object `aps.attributes`, braces included.
    public var attributes: Range<Int> = 0..<0
    /// The string `aps.input-push-channel`, quotes included.
    public var inputPushChannel: Range<Int> = 0..<0
    /// Whether `aps.input-push-token` was 1.
    public var inputPushToken = false
    /// `aps.stale-date`, seconds since 1970.
    public var staleDateSeconds: Int64?
    /// `aps.dismissal-date`, seconds since 1970.
    public var dismissalDateSeconds: Int64?
    /// `aps.relevance-score`; any finite number.
    public var relevanceScore: Double?

    /// An update without content.
    public init() {}
}

/// Why a body is not a Live Activity push, in words for the person who built it.
public struct PayloadFault: Error, Equatable, Sendable, CustomStringConvertible {
    /// How bad the fault is: whether APNs or only the phone notices it.
    public enum Kind: UInt8, Sendable {
        /// The body is not one JSON object in UTF-8 with an object `aps`: APNs itself cannot read it.
        case unreadable
        /// The body is JSON, but not what ActivityKit needs: APNs accepts such a push, and the phone drops it.
        case meaning
    }
    /// Whether APNs itself cannot read the body, or only the phone.
    public var kind: Kind
    /// The key concerned, such as `aps.stale-date`; empty for the body as a whole.
    public var key: String
    /// What was found and what was expected.
    public var problem: String

    public init(kind: Kind, key: String, problem: String) {
        self.kind = kind
        self.key = key
        self.problem = problem
    }

    public var description: String { self.key.isEmpty ? self.problem : "\(self.key): \(self.problem)" }
}
