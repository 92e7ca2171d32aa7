import DeviceModel
import Testing

@testable import ChaosTesting

struct BroadcastRulesTests {
    private typealias Broadcast = ChaosListeners.Broadcast

    private static let rules = BroadcastRules(distanceMillis: 1_000, resumedMillis: [20_000])
    private static let kept: Int64 = 3_600

    private static func broadcast(
        _ atMillis: Int64, until seconds: Int64 = 0, _ reaction: Device.Reaction? = .shown, isEnd: Bool = false
    ) -> Broadcast {
        Broadcast(
            atMillis: atMillis, expirationSeconds: seconds, stampSeconds: atMillis / 1_000, isEnd: isEnd,
            reaction: reaction)
    }

    private static let distances: [([Int64], faultCount: Int)] = [
        ([], 0), ([1_000], 0), ([1_000, 2_000, 3_500], 0),
        // A distance of 700 ms may be due to transit, and 699 ms may not.
        ([1_000, 1_700], 0), ([1_000, 1_699], 1), ([1_000, 1_000, 1_000], 2),
        // A paused worker continued at 20 s. Before that, and long after it, nothing is excused.
        ([19_998, 19_999], 1), ([19_999, 20_000], 0), ([21_900, 22_010], 0), ([22_001, 22_002], 1),
    ]

    @Test(arguments: Self.distances)
    func broadcastsKeepTheirDistance(times: [Int64], faultCount: Int) {
        let broadcasts = times.map { Self.broadcast($0) }
        #expect(Self.rules.faults(broadcasts, storage: .none).count == faultCount)
    }

    private static let reactions: [(Device.Reaction?, isEnd: Bool, atMillis: Int64, isFault: Bool)] = [
        (.shown, false, 2_000, false), (.ignoredRepeat, false, 2_000, false), (.ignoredSameStamp, false, 2_000, true),
        (.ignoredOlder, false, 2_000, true), (.ignoredOlder, false, 20_500, false),
        (.ignoredAfterEnd, false, 2_000, true), (.ignoredAfterEnd, true, 2_000, false),
        (.ignoredAfterEnd, false, 20_500, false), (.ignoredFuture, false, 2_000, true), (nil, false, 20_500, true),
    ]

    @Test(arguments: Self.reactions)
    func stampsOnlyGrow(reaction: Device.Reaction?, isEnd: Bool, atMillis: Int64, isFault: Bool) {
        let faults = Self.rules.faults([Self.broadcast(atMillis, reaction, isEnd: isEnd)], storage: .none)
        #expect(!faults.isEmpty == isFault, "\(faults)")
    }

    /// `apns-expiration` of broadcasts that are two seconds apart.
    private static let expirations: [(ChannelStorage, [Int64], faultCount: Int)] = [
        (.none, [0, 0, 0], 0), (.none, [0, 3_600], 1),
        // At first no worker knows that the channel stores messages. Later all workers know it.
        (.mostRecent, [0, 0, 3_600, 3_600], 0),
        // The first owner that knows of the storage may die after one stored broadcast. After two stored broadcasts
        // every successor knows.
        (.mostRecent, [3_600, 0, 3_600], 0), (.mostRecent, [3_600, 3_600, 0], 1),
        (.mostRecent, [3_600, 0, 3_600, 0], 1),
        // APNs keeps a broadcast for at most eight hours, which are 28,800 s. So 30,000 s is wrong.
        (.mostRecent, [28_802], 0), (.mostRecent, [30_000], 1),
        // No worker learns of the storage, which is a fault from the 20th broadcast on.
        (.mostRecent, Array(repeating: 0, count: 19), 0), (.mostRecent, Array(repeating: 0, count: 20), 1),
    ]

    @Test(arguments: Self.expirations)
    func whatIsKeptFollowsThePolicy(storage: ChannelStorage, expirations: [Int64], faultCount: Int) {
        let broadcasts = expirations.enumerated().map {
            Self.broadcast(1_000 + Int64($0.offset) * 2_000, until: $0.element)
        }
        let rules = BroadcastRules(distanceMillis: 1_000, resumedMillis: [])
        #expect(rules.faults(broadcasts, storage: storage).count == faultCount)
    }

    @Test func theClosestHaveNoExcuse() {
        let broadcasts = [1_000, 2_400, 3_500, 20_001, 20_002].map { Self.broadcast($0) }
        #expect(Self.rules.closestMillis(broadcasts) == 1_100)
        #expect(Self.rules.closestMillis([]) == nil)
    }
}
