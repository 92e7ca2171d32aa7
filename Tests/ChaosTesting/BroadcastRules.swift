import DeviceModel

/// Rules for the broadcasts of a channel: the time between two of them, their stamps, and how long APNs must keep them.
///
/// A broadcast shortly after a pause is excused. A paused worker may have a request halfway to its socket. The request
/// leaves after the pause, with a time and a stamp from before it. Other workers may have broadcast meanwhile. The
/// paused worker may also broadcast again at once, because it counts the distance from when it meant to send. The
/// promises allow this: "What was already in a socket may still arrive".
///
/// A broadcast after a kill is not excused. A dead worker sends nothing, and its successor waits until a possible last
/// broadcast is long enough ago.
struct BroadcastRules {
    /// Shortest allowed time between two broadcasts on a channel, as the workers are configured.
    var distanceMillis: Int64
    /// Times at which paused workers continued, milliseconds since 1970.
    var resumedMillis: [Int64]
    /// Long turns of workers. A worker counts the distance from the beginning of a turn, but a broadcast may leave at
    /// its end.
    var stalls: [WorkerStall] = []

    /// How long after a pause APNs may take a broadcast that was on its way before the pause.
    static let excusedMillis: Int64 = 2_000
    /// Maximum difference between the transit times of two broadcasts in a row. A worker counts the distance from when
    /// it sends, and a busy test machine may delay the first broadcast.
    static let transitMillisMax: Int64 = 300
    /// Number of broadcasts after which a worker must know that its channel stores messages, in spite of all faults.
    static let learnedBroadcastsMin = 20

    /// Describes each broken rule in one line.
    /// - Parameter broadcasts: all broadcasts of one channel, in order.
    func faults(_ broadcasts: [ChaosListeners.Broadcast], storage: ChannelStorage) -> [String] {
        self.distanceFaults(broadcasts) + self.stampFaults(broadcasts) + self.expirationFaults(broadcasts, storage)
    }

    /// Shortest time between two broadcasts in a row that are not excused. `nil` means that there is no such pair.
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
                // An `end` is sent again, with another stamp, when its answer was lost or the channel's owner died. The
                // second `end` does no harm.
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

    /// Judges `apns-expiration`. On a channel without storage, only 0 is right. On a channel with storage, 0 is right
    /// until the worker knows of the storage. APNs may answer the worker's question too late.
    ///
    /// The answer is in `state` before the worker's next broadcast leaves. An owner that dies right after its first
    /// stored broadcast may leave its successor without the answer. After two stored broadcasts, every later one must
    /// be stored, too.
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
