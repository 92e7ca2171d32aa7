import HTTPTypes
import Hummingbird
import Listening
import NIOCore
import PageStyle
import PushInspection
import PushModel
import PushWorker

/// Routes of the page and its API. Every request passes `RequestGuard`.
struct DevRouter: Sendable {
    let house: DevHouse
    /// The page's origin, such as `http://127.0.0.1:8484`. It is known once the port is.
    let origin: @Sendable () -> String
    /// Name of this run of the page. A browser that was open during an earlier run starts over.
    let run: String

    func router() -> Router<BasicRequestContext> {
        let router = Router()
        router.add(
            middleware: DevGate(
                guarding: RequestGuard(host: self.house.settings.host),
                refusalOfChanges: self.house.settings.refusalOfChanges))
        for file in DevPageFiles.all {
            router.get(RouterPath(file.path)) { _, _ in
                var answer = DevAnswer.text(file.text, type: file.type.rawValue)
                answer.headers[.contentSecurityPolicy] = PageFile.contentSecurityPolicy
                return answer
            }
        }
        router.post("/events") { request, _ in try await self.publish(request) }
        router.get("/wait-for") { request, _ in try await self.wait(request) }
        router.get("/metrics") { _, _ in
            guard let text = self.house.worker.metricsText else {
                throw DevRefusal(.serviceUnavailable, "the worker has not started yet")
            }
            return DevAnswer.text(text, type: "text/plain; version=0.0.4; charset=utf-8")
        }
        self.addAPI(to: router)
        return router
    }

    private func addAPI(to router: Router<BasicRequestContext>) {
        router.get("/api/state") { _, _ in DevAnswer.json(self.state(since: 0)) }
        router.get("/api/stream") { request, _ in try self.stream(request) }
        router.get("/api/about") { _, _ in DevAnswer.json(self.about()) }
        router.get("/api/numbers") { _, _ in
            DevAnswer.json(.array(MetricNumber.read(self.house.worker.metricsText ?? "").map(\.json)))
        }
        router.get("/api/entries") { request, _ in try await self.search(request) }
        router.get("/api/entries/:id") { _, context in
            let entry = try self.entry(context)
            return DevAnswer.json(self.house.store.read { timeline in timeline.json(entry) })
        }
        router.get("/api/entries/:id/copies") { _, context in
            DevAnswer.json(self.copies(try self.entry(context)), keepsTokens: true)
        }
        router.post("/api/entries/:id/replay") { _, context in try await self.replay(try self.entry(context)) }
        router.get("/api/phones") { _, _ in
            DevAnswer.json(.array(self.house.store.read { timeline in timeline.phonesInOrder.map(timeline.json) }))
        }
        router.get("/api/phones/:id/token") { _, context in
            DevAnswer.json(["token": .string(try self.phone(context).token)], keepsTokens: true)
        }
        router.post("/api/snippets") { request, _ in try await self.snippets(request) }
        router.post("/api/phones/:id/:action") { request, context in try await self.perform(request, context) }
        router.post("/api/activities") { request, _ in try await self.makeActivity(request) }
        self.addBudget(to: router)
        self.addAudiences(to: router)
        self.addChannels(to: router)
        self.addFaults(to: router)
        self.addTemplates(to: router)
        self.addSchemas(to: router)
    }

    // MARK: Publishing

    private func publish(_ request: Request) async throws -> Response {
        let value = try await Self.body(of: request)
        try Self.refuseParameters(of: request, besides: "activity", meaning: Self.keyExpected)
        guard let key = try FormQuery(of: request)["activity"] else {
            throw DevRefusal(.badRequest, "“activity” is missing: expected /events?activity=ID, \(Self.keyExpected)")
        }
        let reading = EventReading(
            key: Array(key.utf8), value: value, nowSeconds: self.house.nowMillis / 1_000)
        if let rejection = reading.rejection {
            return Self.refusal(field: rejection.field, reason: rejection.reason)
        }
        if let app = reading.event?.app, let reason = self.refusal(of: app) {
            return Self.refusal(field: "app", reason: reason)
        }
        self.house.lookByTheWay(at: key)
        let position = try await self.house.publish(key: Array(key.utf8), value: value)
        let answer: JSONTree = [
            "topic": .string(self.house.settings.eventsTopic), "partition": .integer(position.partition),
            "offset": .integer(position.offset),
            Self.addressee(of: reading.event): .string(TokenText.shortened(key)),
        ]
        return DevAnswer.json(answer, status: .accepted)
    }

    private static let keyExpected =
        "the record's key: the id of the activity, audience or channel that the event is for, or the token of a member who joins or leaves"

    /// What the key of an event's record names.
    private static func addressee(of event: EventReading.Event?) -> String {
        switch event?.target {
        case .audience: [.register, .unregister].contains(event?.kind) ? "member" : "audience"
        case .channel: "channel"
        case .activity, .token, .startToken, nil: "activity"
        }
    }

    private static func refusal(field: String, reason: String) -> Response {
        DevAnswer.json(
            ["error": .string("“\(field)” \(reason)"), "field": .string(field), "reason": .string(reason)],
            status: .badRequest)
    }

    /// Why the worker would refuse an event that names this app; `nil`: it takes the event.
    /// - Parameter app: bundle id; empty: the event names none.
    private func refusal(of app: String) -> String? {
        guard !self.house.store.read({ $0.isTaken(app: app) }) else { return nil }
        let known = self.house.settings.apps.joined(separator: ", ")
        return app.isEmpty
            ? "is missing: expected one of \(known)" : "is “\(TokenText.shortened(app))”: expected one of \(known)"
    }

    private func replay(_ entry: TimelineEntry) async throws -> Response {
        guard case .event(let event) = entry.body, let key = event.record.key, let value = event.record.value,
            event.reading.rejection == nil
        else { throw DevRefusal(.conflict, "entry \(entry.id) is not an event that a worker takes") }
        self.house.lookByTheWay(at: String(decoding: key, as: UTF8.self))
        let position = try await self.house.publish(key: key, value: value)
        return DevAnswer.json(
            ["partition": .integer(position.partition), "offset": .integer(position.offset)], status: .accepted)
    }

    // MARK: Phones

    private func makeActivity(_ request: Request) async throws -> Response {
        let body = try await Self.body(of: request)
        guard let document = try? JSONTree.parse(body), case .object(let members) = document,
            members.allSatisfy({ ["activity", "app"].contains($0.name) }),
            case .string(let activity)? = document["activity"]
        else {
            throw DevRefusal(
                .badRequest, "the body must be {\"activity\": ID, \"app\": BUNDLE-ID}; app may be left out")
        }
        var app = self.house.settings.appNamed
        switch document["app"] {
        case nil: break
        case .string(let named)?:
            if let reason = self.refusal(of: named) { throw DevRefusal(.badRequest, "“app” \(reason)") }
            app = named
        default: throw DevRefusal(.badRequest, "“app” is not a string: expected a bundle id")
        }
        guard (1...DevPageLimits.activityByteCountMax).contains(activity.utf8.count) else {
            throw DevRefusal(
                .badRequest,
                "“activity” has \(activity.utf8.count) bytes: expected 1 to \(DevPageLimits.activityByteCountMax)")
        }
        let phone = try await self.house.makePhone(activity: activity, app: app)
        return DevAnswer.json(["phone": .integer(phone), "activity": .string(activity)], status: .created)
    }

    private func perform(_ request: Request, _ context: BasicRequestContext) async throws -> Response {
        let name = context.parameters.get("action") ?? ""
        guard let action = DevHouse.PhoneAction(rawValue: name) else {
            let known = DevHouse.PhoneAction.allCases.map(\.rawValue).joined(separator: ", ")
            throw DevRefusal(.notFound, "“\(name.prefix(40))” is nothing that happens to a phone: expected \(known)")
        }
        let phone = try self.phone(context)
        let channel = try FormQuery(of: request)["channel"]
        if let reason = try await self.house.perform(action, on: phone, channel: channel) {
            throw DevRefusal(.conflict, reason)
        }
        return DevAnswer.json(["phone": .integer(phone.id), "done": .string(action.rawValue)])
    }

    // MARK: Pieces

    private func phone(_ context: BasicRequestContext) throws(DevRefusal) -> SimulatedPhone {
        guard let id = context.parameters.get("id").flatMap({ Int($0) }),
            let phone = self.house.store.read({ $0.phones[id] })
        else { throw DevRefusal(.notFound, "there is no such phone") }
        return phone
    }

    /// Commands that publish the event of the form from a terminal.
    private func snippets(_ request: Request) async throws -> Response {
        let body = try await Self.body(of: request)
        try Self.refuseParameters(of: request, besides: "activity", meaning: Self.keyExpected)
        let activity = try FormQuery(of: request)["activity"] ?? ""
        // The event on one line, if it is JSON.
        let event = (try? JSONTree.parse(body))?.text ?? String(decoding: body, as: UTF8.self)
        let all = DevSnippets(settings: self.house.settings, origin: self.origin()).all(
            activity: activity, event: event)
        return DevAnswer.json(
            .array(all.map { ["name": .string($0.name), "text": .string($0.text)] }), keepsTokens: true)
    }

    private func entry(_ context: BasicRequestContext) throws(DevRefusal) -> TimelineEntry {
        guard let id = context.parameters.get("id").flatMap({ Int($0) }),
            let entry = self.house.store.read({ $0.entry(id) })
        else { throw DevRefusal(.notFound, "there is no such entry: it may have been forgotten") }
        return entry
    }

    /// Refuses a query that has another parameter than this, or has this one twice.
    static func refuseParameters(
        of request: Request, besides known: String, meaning: String
    ) throws(DevRefusal) {
        let names = try FormQuery(of: request).parameters.map(\.name)
        if let foreign = names.first(where: { $0 != known }) {
            throw DevRefusal(
                .badRequest, "“\(foreign.prefix(40))” is not a parameter: expected \(known), \(meaning)")
        }
        guard names.count < 2 else { throw DevRefusal(.badRequest, "“\(known)” is given twice") }
    }

    /// The request's body as JSON.
    static func document(of request: Request) async throws -> JSONTree {
        let body = try await Self.body(of: request)
        do { return try JSONTree.parse(body) } catch {
            throw DevRefusal(.badRequest, "it is not JSON: at byte \(error.index), \(error.expectation)")
        }
    }

    static func body(of request: Request) async throws -> [UInt8] {
        do {
            return Array(try await request.body.collect(upTo: DevPageLimits.bodyByteCountMax).readableBytesView)
        } catch is NIOTooManyBytesError {
            throw DevRefusal(
                .contentTooLarge, "the body has more than \(DevPageLimits.bodyByteCountMax) bytes")
        }
    }
}

/// Lets permitted requests in, and writes every refusal as JSON.
private struct DevGate: RouterMiddleware {
    let guarding: RequestGuard
    let refusalOfChanges: (@Sendable () -> String?)?

    init(guarding: RequestGuard, refusalOfChanges: (@Sendable () -> String?)?) {
        self.guarding = guarding
        self.refusalOfChanges = refusalOfChanges
    }

    @concurrent func handle(
        _ request: Request, context: BasicRequestContext,
        next: @concurrent (Request, BasicRequestContext) async throws -> Response
    ) async throws -> Response {
        let isRead = [.get, .head].contains(request.method)
        if let refusal = self.guarding.refusal(of: request) { return DevAnswer.refusal(.forbidden, refusal) }
        if !isRead, let reason = self.refusalOfChanges?() { return DevAnswer.refusal(.conflict, reason) }
        do {
            return try await next(request, context)
        } catch let refusal as DevRefusal {
            return DevAnswer.refusal(refusal.status, refusal.text)
        } catch let failure as EventPublisher.Failure {
            return DevAnswer.refusal(failure.isFull ? .serviceUnavailable : .badGateway, failure.text)
        } catch let error as HTTPError where error.status == .notFound {
            return DevAnswer.refusal(.notFound, "there is no such page")
        }
    }
}
