import Foundation
import Listening
import Logging
import NIOPosix
import PushEngine
import PushModel
import Synchronization

/// The pages `/status`, `/activities/<key>` and `/audiences/<id>` on the admin port. They show what the worker knows,
/// but never a token or the content on a phone. The type also answers requests that change something: `/drain` stops
/// the worker, `/audiences/<id>/pause` and `resume` an audience. `AdminAccess` says who is answered.
final class StatePages: Sendable {
    struct Request: Sendable {
        /// The path, percent-encoded, without the query.
        var path: String
        var query: String
        /// The value of the `authorization` field.
        var authorization: String?
        /// The value of the `host` field.
        var authority: String?
        /// The value of the `origin` field, which browsers send with a page's requests.
        var origin: String?
        /// The value of the `sec-fetch-site` field, with which browsers say whether another site's page sends the
        /// request.
        var fetchSite: String?
        /// Whether a browser sends the request because a person follows a link.
        var isNavigation = false
    }

    struct Answer: Sendable, Equatable {
        /// The HTTP status.
        var status: Int
        /// The body: JSON in one line.
        var body: String
        /// Whether the caller has to send a token.
        var asksForToken: Bool { self.status == 401 }
    }

    /// Where the pages get what they show, apart from the answers of shards.
    struct Sources: Sendable {
        var snapshot: @Sendable () -> WorkerSnapshot
        var lags: @Sendable () -> [WorkerMetrics.Lag]
        var silencesMillis: @Sendable () -> [Int64]
        /// Time since the worker was started, seconds.
        var uptimeSeconds: @Sendable () -> Int64
        /// Begins to stop the worker, and returns at once.
        var drain: @Sendable () -> Void = {}
    }

    /// How partitions and shards are laid out. It is known once the worker has joined the group.
    struct Layout {
        var partitionCount: Int32
        var shardCount: Int
        /// Whether the worker checks that records are in the partitions of their keys.
        var isPlacementChecked: Bool
    }

    let access: AdminAccess
    let questions = ShardQuestions()
    private let tokenFile: String?
    private let sources: Sources
    private let logger: Logger
    private let layout = Mutex<Layout?>(nil)
    private let orders = Mutex<AudienceOrders?>(nil)

    init(_ admin: WorkerConfiguration.Admin, sources: Sources, logger: Logger) {
        self.access = AdminAccess(admin)
        self.tokenFile = admin.tokenFile
        self.sources = sources
        self.logger = logger
    }

    /// Sets the shards that can be asked from now on, and `orders`, which pauses and resumes audiences.
    func use(_ shards: [ShardHandle], orders: AudienceOrders, isPlacementChecked: Bool) {
        self.orders.withLock { $0 = orders }
        let partitionCount = orders.partitionCount
        self.layout.withLock {
            $0 = Layout(
                partitionCount: partitionCount, shardCount: shards.count, isPlacementChecked: isPlacementChecked)
        }
        self.questions.use(shards)
    }

    // MARK: Requests

    func status(_ request: Request) async -> Answer {
        if let refusal = await self.refusal(request) { return refusal }
        let report = StatusReport(
            self.sources.snapshot(), uptimeSeconds: self.sources.uptimeSeconds(),
            partitionCount: self.layout.withLock { $0?.partitionCount }, lags: self.sources.lags(),
            silencesMillis: self.sources.silencesMillis())
        return Answer(status: 200, body: Self.json(report))
    }

    func activity(_ request: Request) async -> Answer {
        if let refusal = await self.refusal(request) { return refusal }
        do throws(Fault) {
            let asked = try self.asked(request, "/activities/")
            let pages = try await self.activityPages(asked)
            guard let page = pages.first else { throw self.missing("activity", asked) }
            guard pages.count == 1 else { throw Self.ambiguous(pages.map(\.report.app)) }
            return Answer(status: 200, body: Self.json(page))
        } catch { return Self.answer(error) }
    }

    func activityPages(_ asked: Asked) async throws(Fault) -> [ActivityPage] {
        let found = try await self.ask(asked, everywhere: false) { engine, app, now -> [ActivityPage] in
            guard let report = engine.activityReport(app: app, id: asked.id.span, now: now) else { return [] }
            return [ActivityPage(report: report, app: engine.configuration.apps[Int(app)])]
        }.flatMap { $0 }
        let snapshot = self.sources.snapshot()
        return found.map { page in
            var page = page
            page.waitsFor =
                snapshot.waitForWorker(partition: page.report.partition)
                ?? ActivityWait(page.report, app: page.app, pauses: snapshot.errors + snapshot.degraded)
            return page
        }
    }

    func audience(_ request: Request) async -> Answer {
        if let refusal = await self.refusal(request) { return refusal }
        do throws(Fault) {
            let asked = try self.asked(request, "/audiences/")
            let found = try await self.ask(asked, everywhere: true) { engine, app, now in
                let owner = engine.audienceReport(app: app, id: asked.id.span, now: now)
                let here = engine.crowdStatuses(app: app, id: asked.id.span)
                return owner == nil && here.isEmpty ? [] : [AudiencePart(owner: owner, here: here)]
            }
            let parts = found.flatMap { $0 }
            let apps = Set(parts.flatMap { [$0.owner?.app].compactMap { $0 } + $0.here.map(\.app) }).sorted()
            guard let app = apps.first else { throw self.missing("audience", asked) }
            guard apps.count == 1 else { throw Self.ambiguous(apps) }
            let page = AudiencePage(
                audience: asked.text, app: app, ownerPartition: asked.partition,
                owner: parts.compactMap(\.owner).first,
                partitions: parts.flatMap(\.here).sorted { $0.partition < $1.partition })
            return Answer(status: 200, body: Self.json(page))
        } catch { return Self.answer(error) }
    }

    /// Stops the worker as SIGTERM does.
    func drain(_ request: Request) async -> Answer {
        if let refusal = await self.refusalOfOrder(request) { return refusal }
        self.logger.notice("stopped by the admin port")
        self.sources.drain()
        return Answer(status: 202, body: Self.json(["draining": true]))
    }

    /// Pauses or resumes an audience's pushes, as `mailboat audience pause` and `resume` do.
    func order(_ request: Request) async -> Answer {
        if let refusal = await self.refusalOfOrder(request) { return refusal }
        do throws(Fault) {
            let isPaused = request.path.hasSuffix("/pause")
            guard isPaused || request.path.hasSuffix("/resume") else {
                throw Fault(404, "route-unknown", "expected /audiences/<id>/pause or /audiences/<id>/resume")
            }
            var audience = request
            audience.path.removeLast(isPaused ? "/pause".count : "/resume".count)
            let asked = try self.asked(audience, "/audiences/")
            guard let orders = self.orders.withLock({ $0 }) else { throw Self.notRunning }
            let app = try await self.app(of: asked)
            do throws(AudienceOrders.Fault) {
                try await orders.give(app: app, audience: asked.text, isPaused: isPaused)
            } catch {
                throw switch error {
                case .busy: Fault(503, "busy", "another order is being given: ask again")
                case .unreached(let count, let first):
                    Fault(
                        502, "partitions-untold",
                        "\(count) of \(orders.partitionCount) partitions did not get the order (\(first)): ask again")
                }
            }
            self.logger.notice(
                isPaused ? "an audience is paused" : "an audience is resumed",
                metadata: ["audience": "\(asked.text)", "app": "\(app)"])
            return Answer(
                status: 200,
                body: Self.json(
                    OrderGiven(
                        audience: asked.text, app: app, isPaused: isPaused,
                        partitionsTold: Int(orders.partitionCount))))
        } catch { return Self.answer(error) }
    }

    private struct OrderGiven: Encodable {
        var audience: String
        var app: String
        var isPaused: Bool
        var partitionsTold: Int
    }

    /// The bundle id that the request names. If the request names none, the only configured app's.
    private func app(of asked: Asked) async throws(Fault) -> String {
        let apps = try await self.ask(asked, everywhere: false) { engine, app, _ in
            [engine.configuration.apps[Int(app)].bundleID]
        }
        let names = apps.first ?? []
        guard names.count == 1 else { throw Self.ambiguous(names) }
        return names[0]
    }

    /// What one shard knows about an audience.
    private struct AudiencePart: Sendable {
        var owner: AudienceReport?
        var here: [CrowdStatus]
    }

    /// What this worker's partitions know about an audience.
    private struct AudiencePage: Encodable {
        var audience: String
        var app: String
        /// The partition of the audience's id. The worker that has it is the audience's owner.
        var ownerPartition: Int32
        /// The owner's report; `nil` when the owner is another worker.
        var owner: AudienceReport?
        /// This worker's partitions that have members.
        var partitions: [CrowdStatus]
    }

    // MARK: Permission

    /// Why a request is refused; `nil` when it is answered.
    private func refusal(_ request: Request) async -> Answer? {
        switch self.access {
        case .nobody(let reason): return Self.answer(Fault(403, "forbidden", reason))
        case .local: return self.refusalOfName(request)
        case .token:
            guard await self.admits(request.authorization) else {
                return Self.answer(
                    Fault(401, "unauthorized", "send 'authorization: Bearer' and the token of admin.token-file"))
            }
            return nil
        }
    }

    /// Why a request for the page is refused; `nil` when it is answered. The page itself needs no token. Its script
    /// asks the person for the token, and sends it with each question.
    func refusalOfPage(_ request: Request) -> Answer? {
        switch self.access {
        case .nobody(let reason): return Self.answer(Fault(403, "forbidden", reason))
        case .local: return self.refusalOfName(request)
        case .token: return nil
        }
    }

    private func refusalOfName(_ request: Request) -> Answer? {
        guard AdminAccess.isLocal(authority: request.authority) else {
            return Self.answer(
                Fault(403, "forbidden", "host: expected localhost or its address, as admin.token-file is not set"))
        }
        let sender = RequestGuard.Sender(
            authority: request.authority, origin: request.origin, fetchSite: request.fetchSite,
            isNavigation: request.isNavigation)
        return RequestGuard(host: "localhost").refusal(sender, isRead: true).map {
            Self.answer(Fault(403, "forbidden", $0))
        }
    }

    /// Why a request that changes something is refused; `nil` when it is accepted.
    private func refusalOfOrder(_ request: Request) async -> Answer? {
        if let refusal = await self.refusal(request) { return refusal }
        // Where no token is set, a request is accepted if its `host` names this machine. A page in this machine's
        // browser can send such a request, but the browser adds `origin`.
        guard self.access != .token, request.origin != nil else { return nil }
        return Self.answer(Fault(403, "forbidden", "origin: expected none, as admin.token-file is not set"))
    }

    private func admits(_ authorization: String?) async -> Bool {
        guard let path = self.tokenFile else { return false }
        do {
            let token = try await NIOThreadPool.singleton.runIfActive { try BearerToken.read(path: path) }
            return token.admits(authorization)
        } catch {
            self.logger.error("admin.token-file cannot be used", metadata: ["cause": "\(error)"])
            return false
        }
    }

    // MARK: Requests

    struct Asked: Sendable {
        var text: String
        var id: [UInt8]
        var app: String?
        /// The partition that the key belongs to.
        var partition: Int32
        var layout: Layout
    }

    private func asked(_ request: Request, _ prefix: String) throws(Fault) -> Asked {
        guard let text = String(request.path.dropFirst(prefix.count)).removingPercentEncoding else {
            throw Self.keyInvalid
        }
        return try self.asked(text, app: try Self.app(request.query))
    }

    func asked(_ text: String, app: String?) throws(Fault) -> Asked {
        guard (1...EventRules.keyByteCountMax).contains(text.utf8.count) else { throw Self.keyInvalid }
        guard let layout = self.layout.withLock({ $0 }) else { throw Self.notRunning }
        let id = Array(text.utf8)
        return Asked(
            text: text, id: id, app: app,
            partition: Murmur2.partition(key: id.span, count: layout.partitionCount), layout: layout)
    }

    private static let keyInvalid = Fault(
        400, "request-invalid", "the key: expected 1 to \(EventRules.keyByteCountMax) bytes of UTF-8, percent-encoded")

    private static func app(_ query: String) throws(Fault) -> String? {
        guard !query.isEmpty else { return nil }
        let parts = query.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0] == "app", let app = String(parts[1]).removingPercentEncoding else {
            throw Fault(400, "request-invalid", "the query: expected app=…, or nothing")
        }
        return app
    }

    /// Asks the shards about a key.
    /// - Parameter everywhere: `true`: asks all shards. `false`: asks only the shard that the key belongs to, unless
    ///   the worker does not check where records belong.
    func ask<Found: Sendable>(
        _ asked: Asked, everywhere: Bool,
        _ look: @escaping @Sendable (borrowing ShardEngine, UInt16, EngineTime) -> [Found]
    ) async throws(Fault) -> [[Found]] {
        let isOne = !everywhere && asked.layout.isPlacementChecked
        let shard = AssignmentPlan.shard(of: asked.partition, shardCount: asked.layout.shardCount)
        let name = asked.app
        let answers: [[Found]?]
        do throws(ShardQuestions.Fault) {
            answers = try await self.questions.ask(shard: isOne ? shard : nil) { runner in
                runner.look { engine, now in
                    let apps = engine.configuration.apps
                    guard name == nil || apps.contains(where: { $0.bundleID == name }) else { return [Found]?.none }
                    return apps.indices.filter { name == nil || apps[$0].bundleID == name }.flatMap {
                        look(engine, UInt16($0), now)
                    }
                }
            }
        } catch {
            throw switch error {
            case .notRunning: Self.notRunning
            case .busy: Fault(503, "busy", "\(ShardQuestions.underWayMax) questions are under way: ask again")
            case .timedOut: Fault(503, "timed-out", "the worker's loop has not answered: ask again")
            }
        }
        let known = answers.compactMap { $0 }
        guard !known.isEmpty else {
            throw Fault(404, "app-unknown", "app is \(asked.app ?? ""): expected one that is configured here")
        }
        return known
    }

    private static let notRunning = Fault(503, "not-running", "the worker starts or stops: ask again")

    /// The fault for something that this worker does not have. Either it does not exist, or another worker has it.
    private func missing(_ what: String, _ asked: Asked) -> Fault {
        let partition = asked.partition
        let phase = self.sources.snapshot().partitions.first { $0.number == partition }?.phase
        return switch phase {
        case nil:
            Fault(
                404, "elsewhere", "this worker does not have partition \(partition): ask the one that does",
                partition: partition)
        case .waiting, .claiming, .restoring:
            Fault(503, "restoring", "partition \(partition) is being restored: ask again", partition: partition)
        case .running, .inlet, .releasing, .halted:
            Fault(
                404, "\(what)-unknown",
                "partition \(partition) of this worker knows no such \(what)"
                    + (what == "activity" ? ": is it an audience? /audiences/<id> shows that" : ""),
                partition: partition)
        }
    }

    private static func ambiguous(_ apps: [String]) -> Fault {
        Fault(400, "request-invalid", "the query: expected app=, one of \(apps.joined(separator: ", "))")
    }

    // MARK: Answers

    struct Fault: Error, Encodable {
        var status: Int
        var kind: String
        var remedy: String
        var partition: Int32?

        init(_ status: Int, _ kind: String, _ remedy: String, partition: Int32? = nil) {
            (self.status, self.kind, self.remedy, self.partition) = (status, kind, remedy, partition)
        }

        private enum CodingKeys: String, CodingKey { case kind, remedy, partition }
    }

    private static func answer(_ fault: Fault) -> Answer {
        Answer(status: fault.status, body: Self.json(["error": fault]))
    }

    /// Encodes with names such as `last-stamp-seconds`, as in events and outcomes.
    private static func json(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .custom { path in KebabKey(path[path.count - 1].stringValue) }
        // Texts and numbers can always be encoded. The fallback, an empty object, is JSON as well.
        return ((try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}") + "\n"
    }
}

/// A key such as `last-stamp-seconds` for `lastStampSeconds`; flags lose their `is` or `has`.
private struct KebabKey: CodingKey {
    let stringValue: String
    var intValue: Int? { nil }

    init(_ name: String) {
        var text = ""
        for character in name {
            if character.isUppercase { text += "-" }
            text += character.lowercased()
        }
        for prefix in ["is-", "has-"] where text.hasPrefix(prefix) { text.removeFirst(prefix.count) }
        self.stringValue = text
    }
    init?(stringValue: String) { self.init(stringValue) }
    init?(intValue: Int) { nil }
}
