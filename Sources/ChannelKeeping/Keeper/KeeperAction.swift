public import APNSProtocol

/// An action that a keeper requests. The runner answers each request, announcement and beacon once, by its number, even
/// if the result is unknown.
public enum KeeperAction: Equatable, Sendable {
    /// Write the record of this number to `state`, or its tombstone. Writes leave in the order in which they are
    /// requested.
    case write(number: Int64, channel: KeptChannel?, write: UInt64)
    /// Request Apple's list.
    case list(request: UInt64)
    /// Create a channel. Make one attempt: only the keeper decides on a second one.
    case create(request: UInt64, policy: MessageStoragePolicy)
    /// Delete a channel.
    case delete(request: UInt64, id: [UInt8])
    /// Broadcast the end again, on a channel with this storage policy.
    case beacon(request: UInt64, id: [UInt8], policy: MessageStoragePolicy, end: [UInt8])
    /// Announce the news to the audience's owner and publish the outcome. Call `announced` when both are acknowledged.
    case announce(announcement: UInt64, owner: KeptOwner, news: KeeperNews)
    /// Send the news to the audience's owner once. If the news is lost, the owner asks again.
    case send(owner: KeptOwner, news: KeeperNews)
    /// The position of the message with this receipt may be committed: its effect is durable, or it was answered.
    case resolve(receipt: UInt64)
    /// Alert the operator.
    case alarm(KeeperAlarm)
}

/// News for an audience's owner.
public enum KeeperNews: Equatable, Sendable {
    /// The audience has this channel. Outcome: `channel-opened`.
    case opened(id: [UInt8])
    /// The audience's channel has vanished, and another will be opened. Outcome: `channel-closed`.
    case vanished(id: [UInt8])
    /// The audience's channel was deleted after it had lingered, or vanished while it lingered. Outcome:
    /// `channel-closed`.
    case closed(id: [UInt8])
    /// The audience gets no channel. Another request may succeed once the reason is gone.
    case refused(KeeperRefusal)
}

/// Why an audience gets no channel.
public enum KeeperRefusal: Equatable, Sendable, CustomStringConvertible {
    /// The app has nearly as many channels as Apple allows.
    case quota(count: Int, quota: ChannelQuota)
    /// Apple refuses for good, with this status and reason.
    case byAPNs(status: UInt16, reason: String)
    /// The keeper already has the maximum number of records, `keptMax`.
    case full(keptMax: Int)
    /// There are already `waitingMax` wishes and unfinished creations.
    case tooManyWaiting(waitingMax: Int)
    /// The life is over, or a newer one has begun.
    case lifeIsOver

    public var description: String {
        switch self {
        case .quota(let count, let quota):
            "the app has \(count) channels in this environment: from \(quota.refusalCount) on no new one is made, because"
                + " Apple allows \(quota.countMax): delete useless ones"
        case .byAPNs(let status, let reason):
            "APNs says \(status) \(reason.isEmpty ? "without a reason" : reason)"
        case .full(let max): "\(max) channels are kept for this app and environment already"
        case .tooManyWaiting(let max): "\(max) audiences of this app wait for a channel already"
        case .lifeIsOver: "this life of the audience is over"
        }
    }
}

/// An alarm for the operator. Each is raised once when it begins.
public enum KeeperAlarm: Equatable, Sendable {
    /// 80 % of the quota is used.
    case quotaHigh(count: Int, quota: ChannelQuota)
    /// 95 % of the quota is used: no channel is made.
    case quotaReached(count: Int, quota: ChannelQuota)
    /// Apple refuses to list, create or delete: key, topic or capability is wrong.
    case refused(status: UInt16, reason: String)
    /// A lost answer may have made this channel.
    case possiblyOurs(id: [UInt8], sinceMillis: Int64)
    /// This channel appeared beside the one that an answered creation has made. The creation may have been carried out
    /// twice.
    case perhapsSecond(id: [UInt8], sinceMillis: Int64)
    /// A creation was answered with an id that cannot be new: the id was there before, or is invalid. The answer counts
    /// as lost.
    case foreignAnswer(id: [UInt8])
    /// The maximum number of ids is shown as possibly ours. Further ids are counted, and shown as unknown.
    case shownFull(shownMax: Int)
    /// A channel of ours is gone, and we did not delete it.
    case vanished(id: [UInt8])
}
