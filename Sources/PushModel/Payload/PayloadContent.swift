/// What one push carries apart from its event name, stamp and alert. The ranges index one buffer, `source`, that the
/// caller keeps: the record's value, or the engine's own copy of its parts. A part that is absent is an empty range or
/// `nil`.
public struct PayloadContent: Equatable, Sendable {
    /// The JSON object `content-state`.
    public var contentState = ByteRange()
    /// The JSON string `attributes-type`, with its quotes. Written for `start` only.
    public var attributesType = ByteRange()
    /// The JSON object `attributes`. Written for `start` only.
    public var attributes = ByteRange()
    /// The JSON number `relevance-score`.
    public var relevanceScore = ByteRange()
    /// The JSON string `input-push-channel`, with its quotes. Written for `start` only.
    public var inputPushChannel = ByteRange()
    /// Whether `input-push-token` is written, as `1`, which Apple requires. Only for `start`.
    public var inputPushToken = false
    /// `stale-date`, seconds since 1970.
    public var staleDateSeconds: Int64?
    /// `dismissal-date`, seconds since 1970. Written for `end` only.
    public var dismissalDateSeconds: Int64?

    /// Content without any part.
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
