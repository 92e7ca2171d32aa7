import KafkaLog
import Logging
import Testing

@testable import PushWorker

/// Tests of finding strangers among the members of a group, by a broker's report.
struct GroupCompanyTests {
    private static let events = WorkerConfiguration().topics.events[0]

    private static func member(_ name: String, _ topic: String = events, _ partitions: Int32...) -> GroupMember {
        GroupMember(
            clientID: name, host: "/10.0.0.7", groupInstanceID: nil,
            assignment: partitions.map { TopicPartition(topic: topic, partition: $0) })
    }

    private static func company(
        _ members: GroupMember..., strategy: String = "cooperative-sticky",
        configuration: WorkerConfiguration = WorkerConfiguration()
    ) -> GroupCompany {
        GroupCompany(GroupDescription(strategy: strategy, members: members), configuration)
    }

    @Test func workersAreNoStrangers() {
        let company = Self.company(Self.member("mailboat", Self.events, 0, 1), Self.member("mailboat"))
        #expect(company.complaint == nil && !company.keepsWorkersOut && company.memberCount == 2)
        // During a rebalance the broker reports no strategy, and an empty group has none.
        #expect(Self.company(Self.member("mailboat"), strategy: "").complaint == nil)
        #expect(Self.company(strategy: "range").complaint == nil)
        #expect(!Self.company(strategy: "range").keepsWorkersOut)
    }

    @Test func whoeverReadsAnotherTopicIsNamed() {
        let company = Self.company(Self.member("mailboat"), Self.member("mailboat", "orders", 0))
        #expect(company.complaint?.contains("mailboat at 10.0.0.7 reads orders") == true)
        #expect(!company.keepsWorkersOut)
    }

    @Test func whoeverTakesPartitionsIsNamed() {
        let company = Self.company(Self.member("mailboat"), Self.member("console-consumer", Self.events, 2, 3))
        #expect(company.complaint?.contains("console-consumer at 10.0.0.7 has 2 partitions of") == true)
        #expect(company.complaint?.contains("no worker sees") == true)
        #expect(Self.company(Self.member("kcat")).complaint?.contains("is not named mailboat") == true)
    }

    /// An operator may give each worker a different name, so a client's name proves nothing.
    @Test func namesThatAreGivenAreNotJudged() {
        var configuration = WorkerConfiguration()
        configuration.kafka.common.append("client.id", "push-0")
        #expect(Self.company(Self.member("push-1", Self.events, 2), configuration: configuration).complaint == nil)
        #expect(Self.company(Self.member("push-1", "orders", 2), configuration: configuration).complaint != nil)
    }

    @Test func anotherStrategyKeepsWorkersOut() {
        let company = Self.company(Self.member("billing", Self.events, 0, 1), strategy: "range")
        #expect(company.keepsWorkersOut)
        #expect(company.complaint?.contains("assigns partitions by range, but workers use cooperative-sticky") == true)
        #expect(company.complaint?.contains("billing at 10.0.0.7") == true)
        var configuration = WorkerConfiguration()
        configuration.kafka.consumer.append("partition.assignment.strategy", "range,roundrobin")
        let wanted = Self.company(Self.member("mailboat"), strategy: "roundrobin", configuration: configuration)
        #expect(wanted.complaint == nil)
    }

    @Test func ofManyOnlySomeAreNamed() {
        let members = (0..<8).map { Self.member("kcat\($0)") }
        let company = GroupCompany(
            GroupDescription(strategy: "cooperative-sticky", members: members), WorkerConfiguration())
        #expect(company.complaint?.hasSuffix("; and 3 more") == true)
    }

    // MARK: The worker

    /// A stranger that keeps the worker out makes the worker unready. A stranger that only reads beside the worker
    /// makes it degraded, because another worker would have the same stranger.
    @Test func readinessTellsOfStrangersUntilTheyAreGone() {
        let hub = SnapshotHub(shardCount: 1)
        let watch = GroupWatch(
            WorkerConfiguration(), hub: hub, log: nil, logger: Logger(label: "x") { _ in SwiftLogNoOpLogHandler() })
        watch.took(Self.company(Self.member("kcat", Self.events, 1)))
        #expect(hub.snapshot.degraded.contains { $0.contains("kcat at 10.0.0.7") })
        #expect(hub.snapshot.degraded.contains { $0.contains("group.id of their own") })
        #expect(hub.snapshot.errors.isEmpty)
        watch.took(Self.company(Self.member("billing"), strategy: "range"))
        #expect(hub.snapshot.degraded.isEmpty)
        #expect(hub.snapshot.errors.contains { $0.contains("billing at 10.0.0.7") })
        watch.took(Self.company(Self.member("mailboat")))
        #expect(hub.snapshot.degraded.isEmpty && hub.snapshot.errors.isEmpty)
    }

    @Test func theGroupIsLookedAtAfterEachRebalanceAndWhileItLetsNobodyIn() {
        var pace = GroupLookPace(nowMillis: 0)
        func isDue(_ nowMillis: Int64, joined: Bool = true, rebalances: UInt64 = 1, strangers: Bool = false) -> Bool {
            pace.isDue(hasJoined: joined, rebalances: rebalances, hasStrangers: strangers, nowMillis: nowMillis)
        }
        #expect(!isDue(9_000, joined: false, rebalances: 0))
        #expect(isDue(10_000, joined: false, rebalances: 0))
        #expect(!isDue(12_000, joined: false, rebalances: 0))
        #expect(isDue(20_000, joined: false, rebalances: 0))
        // Another rebalance postpones the next look at the group.
        #expect(!isDue(25_000))
        #expect(!isDue(30_000, rebalances: 2))
        #expect(!isDue(39_000, rebalances: 2))
        #expect(isDue(40_000, rebalances: 2))
        // The worker then looks at the group every ten minutes, or every minute while the group has strangers.
        #expect(!isDue(99_000, rebalances: 2))
        #expect(isDue(100_000, rebalances: 2, strangers: true))
        #expect(!isDue(699_000, rebalances: 2))
        #expect(isDue(700_000, rebalances: 2))
    }
}
