/// Whether APNs keeps a channel's newest message for phones that are away. It is fixed when the channel is made
/// (`message-storage-policy`).
public enum ChannelStorage: UInt8, Sendable, CaseIterable {
    /// A message reaches the phones that are connected when it is sent, and no other.
    case none = 0
    /// The most recent message is kept until it expires. A phone gets it when it is back.
    case mostRecent = 1

    /// Longest time for which a message is kept, seconds (Apple: 8 hours).
    public static let storedSecondsMax: Int64 = 8 * 3_600
}
