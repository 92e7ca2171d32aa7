import ChannelKeeping
public import PushModel

/// How many channels an app has in an environment, by Apple's list as its keeper saw it last.
public struct ChannelListing: Sendable, Equatable {
    /// The app's bundle identifier.
    public var bundleID: String
    /// Which of Apple's two push services.
    public var environment: PushEnvironment
    /// Whoever made them.
    public var count: Int

    /// Of a list.
    public init(bundleID: String, environment: PushEnvironment, count: Int) {
        (self.bundleID, self.environment, self.count) = (bundleID, environment, count)
    }
}

extension ShardEngine {
    /// Of the keepers that live here, those that have seen a list.
    public var channelListings: [ChannelListing] {
        guard !self.keepers.isEmpty else { return [] }
        return self.keepers.identifiers.compactMap { id in
            guard let hosted = self.keepers[id], let count = hosted.standing?.count else { return nil }
            return ChannelListing(
                bundleID: self.memory.configuration.apps[Int(hosted.app)].bundleID, environment: hosted.environment,
                count: count)
        }
    }
}
