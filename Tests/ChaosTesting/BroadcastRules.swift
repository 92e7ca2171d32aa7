import DeviceModel

/// What holds for a channel's broadcasts as APNs took them: their distance, their stamps, and what they ask APNs to keep.
///
/// One thing is allowed that a single worker would not do. A worker that is paused may have a request half way to its socket. When it goes
/// on, that request leaves, at a time and with a stamp that were right before the pause: others may have broadcast since, or it may itself
/// broadcast again at once, because the distance is counted from when it meant to send. No promise covers that ("What was already in a socket
/// may still arrive"), so what APNs takes shortly after is not held against it. A kill has no such excuse: a dead worker sends nothing, and its
/// successor waits for as long as the dead one's last broadcast may be young.
struct BroadcastRules {
    /// The least time between two broadcasts on a channel, as the workers are told.
    var distanceMillis: Int64
    /// When workers that had been paused went on, milliseconds since 1970.
    var resumedMillis: [Int64]
    /// Long turns of workers: the distance is counted from when a turn began.
    var stalls: [WorkerStall] = []

    /// What is taken so long after a pause may have been on its way before it.
    static let excusedMillis: Int64 = 2_000
    /// A worker counts from when it sends. By so much longer one broadcast may be on its way than the next: machines are shared.
    static let transitMillisMax: Int64 = 300
    /// Number of broadcasts after which a channel that stores has been asked about, whatever went wrong.
    static let learnedBroadcastsMin = 20

    /// What is wrong, in words.
    /// - Parameter broadcasts: of one channel, in order.
    func faults(_ broadcasts: [ChaosListeners.Broadcast], storage: ChannelStorage) -> [String] {
        self.distanceFaults(broadcasts) + self.stampFaults(broadcasts) + self.expirationFaults(broadcasts, storage)
    }

    /// The least time between two broadcasts that has no excuse; `nil`: there are no two.
    func closestMillis(_ broadcasts: [ChaosListeners.Broadcast]) -> Int64? {
        zip(broadcasts, broadcasts.dropFirst()).filter { !self.isExcused($0) && !self.isExcused($1) }
            .map { $1.atMillis - $0.atMillis }.min()
    }

    private func isExcused(_ broadcast: ChaosListeners.Broadcast) -> Bool {
        self.resumedMillis.contains { ($0...$0 + Self.excusedMillis).contains(broadcast.atMillis) }
    }

    private func distanceFaults(_ broadcasts: [ChaosListeners.Broadcast]) -> [String] {
        zip(broadcasts, broadcasts.dropFirst()).compactMap { first, second in
            let millis = second.atMillis - first.atMillis
            guard millis < self.distanceMillis - Self.transitMillisMax, !self.isExcused(first), !self.isExcused(second),
                !self.stalls.contains(where: { $0.covers(first.atMillis) })
            else { return nil }
            return "two broadcasts are \(millis) ms apart, the second at \(second.atMillis)"
        }
    }

    private func stampFaults(_ broadcasts: [ChaosListeners.Broadcast]) -> [String] {
        broadcasts.compactMap { broadcast in
            switch broadcast.reaction {
            // A repeat follows an answer that was lost.
            case .shown, .shownAsSecondCard, .ignoredRepeat: return nil
            case .ignoredAfterEnd:
                // An `end` is said again when its answer was lost or its owner died, then with another stamp. It harms nothing.
                guard !broadcast.isEnd, !self.isExcused(broadcast) else { return nil }
                return "a broadcast after the end, at \(broadcast.atMillis)"
            case .ignoredSameStamp, .ignoredOlder, .ignoredStale, .ignoredFuture, .throttled:
                guard !self.isExcused(broadcast) else { return nil }
                return "no phone shows the broadcast at \(broadcast.atMillis): its stamp "
                    + "\(broadcast.stampSeconds ?? 0) is \(broadcast.reaction.map { "\($0)" } ?? "")"
            case nil: return "no phone can read the broadcast at \(broadcast.atMillis)"
            }
        }
    }

    /// On a channel that keeps nothing only 0 is right. On one that stores, 0 is right as long as the worker does not know that it stores: its
    /// question got no answer in time.
    ///
    /// What a worker was told stands in `state` before its next broadcast leaves. So only an owner that died right after its first broadcast
    /// with that knowledge can leave a successor that knows nothing: after the second such broadcast nobody may ask APNs to keep nothing.
    private func expirationFaults(
        _ broadcasts: [ChaosListeners.Broadcast], _ storage: ChannelStorage
    ) -> [String] {
        var keptCount = 0
        var faults: [String] = []
        for broadcast in broadcasts {
            switch (storage, broadcast.expirationSeconds) {
            case (.none, 0): break
            case (.none, let seconds):
                faults.append("keeps nothing, and a broadcast was to be kept until \(seconds)")
            case (.mostRecent, 0):
                guard keptCount > 1, !self.isExcused(broadcast) else { continue }
                faults.append(
                    "stores, and the broadcast at \(broadcast.atMillis) was not to be kept, after \(keptCount) that were"
                )
            case (.mostRecent, let seconds):
                keptCount += 1
                if seconds * 1_000 > broadcast.atMillis + (ChannelStorage.storedSecondsMax + 1) * 1_000 {
                    faults.append("a broadcast at \(broadcast.atMillis) was to be kept until \(seconds)")
                }
            }
        }
        if storage == .mostRecent, keptCount == 0, broadcasts.count >= Self.learnedBroadcastsMin {
            faults.append("stores, and none of \(broadcasts.count) broadcasts was to be kept")
        }
        return faults
    }
}
