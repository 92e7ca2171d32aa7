public import APNSProtocol

/// What a keeper wants done. Each request, announcement and beacon is answered once, by its number, also when nobody knows what became of it.
public enum KeeperAction: Equatable, Sendable {
    /// Write the record of this number to `state`, or its tombstone. Writes leave in the order in which they are asked for.
    case write(number: Int64, channel: KeptChannel?, write: UInt64)
    /// Ask Apple for the list.
    case list(request: UInt64)
    /// Create a channel. One attempt: a second one is the keeper's to decide.
    case create(request: UInt64, policy: MessageStoragePolicy)
    /// Delete a channel.
    case delete(request: UInt64, id: [UInt8])
    /// Broadcast the end again, on a channel that keeps such messages.
    case beacon(request: UInt64, id: [UInt8], policy: MessageStoragePolicy, end: [UInt8])
    /// Tell the audience's owner, publish the outcome, and say when both are acknowledged.
    case announce(announcement: UInt64, owner: KeptOwner, news: KeeperNews)
    /// Tell the audience's owner again. It asks once more if that is lost.
    case tell(owner: KeptOwner, news: KeeperNews)
    /// What came with this receipt is durable, or was answered: its position may be committed.
    case resolve(receipt: UInt64)
    /// An operator should know.
    case alarm(KeeperAlarm)
}

/// What an audience's owner is told.
public enum KeeperNews: Equatable, Sendable {
    /// It has this channel. Outcome: `channel-opened`.
    case opened(id: [UInt8])
    /// Its channel has vanished, and another is opened. Outcome: `channel-closed`.
    case vanished(id: [UInt8])
    /// Its channel has lingered and is deleted, or has vanished then. Outcome: `channel-closed`.
    case closed(id: [UInt8])
    /// The audience gets none. Another request may succeed once the reason is gone.
    case refused(KeeperRefusal)
}

/// Why an audience gets no channel.
public enum KeeperRefusal: Equatable, Sendable, CustomStringConvertible {
    /// The app has nearly as many channels as Apple allows.
    case quota(count: Int, quota: ChannelQuota)
    /// Apple refuses for good, with this status and reason.
    case byAPNs(status: UInt16, reason: String)
    /// `keptMax` records are kept.
    case full(keptMax: Int)
    /// `waitingMax` audiences wait.
    case tooManyWaiting(waitingMax: Int)
    /// The life is over, or a newer one has begun.
    case lifeIsOver

    public var description: String {
        switch self {
        case .quota(let count, let quota):
            "the app has \(count) channels in this environment, and none is made from \(quota.refusalCount) on, as Apple"
                + " allows \(quota.countMax): delete what is of no use"
        case .byAPNs(let status, let reason):
            "APNs says \(status) \(reason.isEmpty ? "without a reason" : reason)"
        case .full(let max): "\(max) channels are kept for this app and environment already"
        case .tooManyWaiting(let max): "\(max) audiences of this app wait for a channel already"
        case .lifeIsOver: "this life of the audience is over"
        }
    }
}

/// What an operator should know. Each is said once when it begins.
public enum KeeperAlarm: Equatable, Sendable {
    /// 80 % of the quota.
    case quotaHigh(count: Int, quota: ChannelQuota)
    /// 95 %: no channel is made.
    case quotaReached(count: Int, quota: ChannelQuota)
    /// Apple refuses to list, create or delete: key, topic or capability.
    case refused(status: UInt16, reason: String)
    /// A lost answer may have made this channel.
    case possiblyOurs(id: [UInt8], sinceMillis: Int64)
    /// A creation was answered, and this channel is new as well: it may have been carried out twice.
    case perhapsSecond(id: [UInt8], sinceMillis: Int64)
    /// A creation was answered with an id that cannot be what it has made: one that was there before, or that is none. It counts as lost.
    case foreignAnswer(id: [UInt8])
    /// The most ids are shown: no further one is.
    case shownFull(shownMax: Int)
    /// A channel of ours was not deleted by us, and is gone.
    case vanished(id: [UInt8])
}
