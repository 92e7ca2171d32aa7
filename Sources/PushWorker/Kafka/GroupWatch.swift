import KafkaLog
import Logging
import PushModel
import PushTransport
import Synchronization

/// Decides when to ask for the members of the group. The caller passes the time.
struct GroupLookPace {
    /// Delay after a rebalance, so that the group has settled. It is also the pause between looks until this worker has
    /// joined.
    static let delayMillis: Int64 = 10_000
    /// The pause between looks while the group has members that are not workers.
    static let strangersMillis: Int64 = 60_000
    /// The pause between looks once this worker has joined, while all members are workers. A member that joins causes a
    /// rebalance, after which the group is looked at anyway.
    static let quietMillis: Int64 = 600_000

    private var lookedAtMillis: Int64
    private var rebalances: UInt64 = 0
    private var changedAtMillis: Int64?

    /// - Parameter nowMillis: when this worker asked to join the group, on the steady clock.
    init(nowMillis: Int64) { self.lookedAtMillis = nowMillis }

    /// Whether to ask now. If `true`, the group counts as asked.
    mutating func isDue(hasJoined: Bool, rebalances: UInt64, hasStrangers: Bool, nowMillis: Int64) -> Bool {
        if rebalances != self.rebalances {
            self.rebalances = rebalances
            self.changedAtMillis = nowMillis
        }
        let interval =
            !hasJoined ? Self.delayMillis : hasStrangers ? Self.strangersMillis : Self.quietMillis
        let isSettled = self.changedAtMillis.map { nowMillis - $0 >= Self.delayMillis } ?? false
        guard isSettled || nowMillis - self.lookedAtMillis >= interval else { return false }
        self.lookedAtMillis = nowMillis
        self.changedAtMillis = nil
        return true
    }
}

/// Looks for members of the group that are not workers. Such a member keeps workers out, or takes partitions and loses
/// their events. Readiness and the log name such members.
final class GroupWatch: Sendable {
    private struct State {
        /// Whether a question has no answer yet. A worker that stops does not wait for it.
        var isUnderWay = false
        /// Whether the broker cannot answer, so that it is not asked again.
        var isOver = false
        var complaint: String?
    }

    private let configuration: WorkerConfiguration
    private let hub: SnapshotHub
    private let log: KafkaLogHandler?
    private let logger: Logger
    private let state = Mutex(State())

    static let interval: Duration = .seconds(2)
    /// Time limit for each of the three requests that a look makes.
    private static let limit: Duration = .seconds(5)

    init(_ configuration: WorkerConfiguration, hub: SnapshotHub, log: KafkaLogHandler?, logger: Logger) {
        self.configuration = configuration
        self.hub = hub
        self.log = log
        self.logger = logger
    }

    /// Looks at the group again and again until the task is cancelled.
    func run() async {
        var pace = GroupLookPace(nowMillis: MachineClock.now().steadyMillis)
        while (try? await Task.sleep(for: Self.interval)) != nil, !self.state.withLock(\.isOver) {
            let group = self.hub.group
            let isDue = pace.isDue(
                hasJoined: group.hasJoined, rebalances: group.rebalances,
                hasStrangers: self.state.withLock { $0.complaint != nil },
                nowMillis: MachineClock.now().steadyMillis)
            let isFree = self.state.withLock { state in
                guard isDue, !state.isUnderWay else { return false }
                state.isUnderWay = true
                return true
            }
            guard isFree else { continue }
            NamedThread.start("kafka-group") { self.look() }
        }
    }

    private func look() {
        defer { self.state.withLock { $0.isUnderWay = false } }
        do throws(KafkaError) {
            // A client is made for each look, because looks are rare.
            let admin = try KafkaAdmin(self.configuration.kafka.consumerSettings, log: self.log)
            self.took(
                GroupCompany(
                    try admin.group(self.configuration.kafka.groupID, within: Self.limit), self.configuration))
        } catch  where error.code == .unsupportedFeature {
            self.state.withLock { $0.isOver = true }
        } catch {
            self.logger.debug(
                "the group cannot be asked for its members", metadata: self.configuration.kafka.metadata(of: error))
        }
    }

    func took(_ company: GroupCompany) {
        let complaint = company.complaint.map { "\($0); \(GroupCompany.remedy)" }
        let former = self.state.withLock { state in
            defer { state.complaint = complaint }
            return state.complaint
        }
        guard complaint != former else { return }
        if let complaint {
            self.logger.error("there are strangers in the group", metadata: ["cause": "\(complaint)"])
        } else {
            self.logger.notice("there are no longer strangers in the group")
        }
        self.hub.updateGroup { report in
            report.errors["group"] = company.keepsWorkersOut ? complaint : nil
            report.strangers = company.keepsWorkersOut ? nil : complaint
        }
    }
}
