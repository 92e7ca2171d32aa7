import DeviceModel

/// Rules for a channel's broadcasts as APNs took them: their distance, their stamps, and what they ask APNs to keep.
///
/// One thing is allowed that a single worker would not do. A paused worker may have a request halfway to its socket.
/// The request leaves when the worker goes on, with a time and a stamp that were right before the pause. Other workers
/// may have broadcast since. The worker itself may also broadcast again at once, because the distance is counted from
/// when it meant to send. No promise covers that ("What was already in a socket may still arrive"), so broadcasts
/// shortly after a pause are excused.
///
/// A kill has no such excuse. A dead worker sends nothing, and its successor waits for as long as the last broadcast
/// may be recent.
struct BroadcastRules {
    /// The least time between two broadcasts on a channel, as the workers are configured.
    var distanceMillis: Int64
    /// When paused workers went on, milliseconds since 1970.
    var resumedMillis: [Int64]
    /// Long turns of workers. The distance is counted from the beginning of a turn.
    var stalls: [WorkerStall] = []

    /// How long after a pause APNs may take a broadcast that was on its way before the pause.
    static let excusedMillis: Int64 = 2_000
    /// The most by which one broadcast may take longer on its way than the next. A worker counts the distance from when
    /// it sends, and test machines are shared.
    static let transitMillisMax: Int64 = 300
    /// Number of broadcasts after which a worker must know that a channel stores, whatever went wrong.
    static let learnedBroadcastsMin = 20

    /// The broken rules, in words.
    /// - Parameter broadcasts: all broadcasts of one channel, in order.
    func faults(_ broadcasts: [ChaosListeners.Broadcast], storage: ChannelStorage) -> [String] {
        self.distanceFaults(broadcasts) + self.stampFaults(broadcasts) + self.expirationFaults(broadcasts, storage)
    }

    /// The least time between two broadcasts that have no excuse. `nil` means that there are no such two.
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
            // APNs gets a repeat when the answer to the first request was lost.
            case .shown, .shownAsSecondCard, .ignoredRepeat: return nil
            case .ignoredAfterEnd:
                // An `end` is sent again, with another stamp, when its answer was lost or its owner died. That does no
                // harm.
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

    /// Judges `apns-expiration`. On a channel that keeps nothing, only 0 is right. On one that stores, 0 is right until
    /// the worker knows that it stores: the worker's question may have got no answer in time.
    ///
    /// The answer is in `state` before the worker's next broadcast leaves. So only an owner that died right after its
    /// first broadcast with that knowledge can leave a successor without it. After the second such broadcast no worker
    /// may ask APNs to keep nothing.
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
