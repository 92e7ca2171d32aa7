/// What one push carries beside its event name, stamp and alert. The ranges index one buffer, `source`, that the caller keeps: the
/// record's value, or the engine's own copy of its parts. Empty ranges and `nil` stand for absent parts.
public struct PayloadContent: Equatable, Sendable {
    /// A JSON object.
    public var contentState = ByteRange()
    /// A JSON string, quotes included. Written for `start` only.
    public var attributesType = ByteRange()
    /// A JSON object. Written for `start` only.
    public var attributes = ByteRange()
    /// A JSON number.
    public var relevanceScore = ByteRange()
    /// A JSON string, quotes included. Written for `start` only.
    public var inputPushChannel = ByteRange()
    /// Written for `start` only, as Apple's `1`.
    public var inputPushToken = false
    /// Seconds since 1970.
    public var staleDateSeconds: Int64?
    /// Seconds since 1970. Written for `end` only.
    public var dismissalDateSeconds: Int64?

    /// Nothing.
    @inlinable public init() {}

    /// The parts of a decoded event, as ranges of that event's value.
    public init(of event: borrowing DecodedEvent) {
        self.contentState = event.contentStateInValue
        self.attributesType = event.attributesTypeInValue
        self.attributes = event.attributesInValue
        self.relevanceScore = event.relevanceScoreInValue
        self.inputPushChannel = event.inputPushChannelInValue
        self.inputPushToken = event.inputPushToken
        self.staleDateSeconds = event.staleDateSeconds
        self.dismissalDateSeconds = event.dismissalDateSeconds
    }
}
