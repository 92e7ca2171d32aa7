/// Whether APNs keeps a channel's newest message for phones that are away. Fixed when the channel is made (`message-storage-policy`).
public enum ChannelStorage: UInt8, Sendable, CaseIterable {
    /// A message reaches the phones that are connected when it is sent, and no other.
    case none = 0
    /// The most recent message is kept until it expires, and a phone that comes back gets it.
    case mostRecent = 1

    /// A message is kept no longer, seconds (Apple: 8 hours).
    public static let storedSecondsMax: Int64 = 8 * 3_600
}
