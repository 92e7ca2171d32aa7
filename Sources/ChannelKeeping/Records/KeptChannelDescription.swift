/// A kept channel's record in `state`, as tools show it.
public struct KeptChannelDescription: Equatable, Sendable, Encodable {
    /// Offset of the marker of the owner that wrote the record.
    public var epoch: Int64
    /// `production` or `development`.
    public var environment: String
    /// The keeper's own number of the channel.
    public var number: Int64
    /// `wanted`, `asked`, `open`, `ended`, `deleting`, `deleted` or `possiblyOurs`.
    public var phase: String
    /// When the phase began, milliseconds since 1970.
    public var sinceMillis: Int64
    /// Whether the audience's owner has been informed of the phase.
    public var isAnnounced: Bool
    /// What the channel keeps for phones that are off, `none` or `most-recent`.
    public var storage: String
    /// The id as Apple spells it; `nil`: Apple has not answered yet.
    public var id: String?
    /// When Apple's answer arrived, milliseconds since 1970.
    public var openedMillis: Int64?
    /// The audience that the channel is for; `nil`: it has none, or the channel is not known to be ours.
    public var audience: String?
    /// The life of that audience, seconds since 1970.
    public var audienceLife: Int64?
    /// When the audience's life ended, milliseconds since 1970; `nil`: it has not ended.
    public var endedMillis: Int64?
    /// Number of scheduled broadcasts that have been sent after the end.
    public var beaconsSent: Int
    /// Number of bytes that are broadcast again after the end.
    public var endByteCount: Int
}
