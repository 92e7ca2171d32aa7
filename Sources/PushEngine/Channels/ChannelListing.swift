import ChannelKeeping
public import PushModel

/// Number of channels that an app has in an environment, as its keeper last saw it in Apple's list.
public struct ChannelListing: Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: String
    /// Which of Apple's two push services.
    public var environment: PushEnvironment
    /// Number of channels, no matter who made them.
    public var count: Int

    /// Creates the count of one list.
    public init(bundleID: String, environment: PushEnvironment, count: Int) {
        (self.bundleID, self.environment, self.count) = (bundleID, environment, count)
    }
}

extension KeeperHost {
    /// Numbers of channels, one for each keeper in this shard that has read Apple's list.
    func channelListings(in memory: borrowing ShardMemory) -> [ChannelListing] {
        guard !self.keepers.isEmpty else { return [] }
        return self.keepers.identifiers.compactMap { id in
            guard let hosted = self.keepers[id], let count = hosted.standing?.count else { return nil }
            return ChannelListing(
                bundleID: memory.configuration.apps[Int(hosted.app)].bundleID, environment: hosted.environment,
                count: count)
        }
    }
}
