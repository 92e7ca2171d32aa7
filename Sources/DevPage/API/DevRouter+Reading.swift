import HTTPTypes
import Hummingbird
import NIOCore
import PushInspection
import PushModel
import PushWorker

/// Requests that read and change nothing.
extension DevRouter {
    /// What the page knows that is newer than a revision.
    func state(since revision: Int) -> JSONTree {
        guard case .object(var members) = self.house.store.read({ $0.changes(since: revision) }) else { return .null }
        let snapshot = self.house.worker.snapshot()
        members.append(.init("channels", self.house.channels))
        members.append(.init("faults", self.faults()))
        members.append(.init("schemaChanges", .integer(self.house.store.schemas.changeCount)))
        members.append(.init("run", .string(self.run)))
        members.append(.init("ready", .bool(snapshot.isReady)))
        members.append(
            .init("trouble", .array((snapshot.errors + snapshot.degraded).map { .string($0) })))
        return .object(members)
    }

    /// What does not change while the page is open: where and how to publish.
    func about() -> JSONTree {
        let settings = self.house.settings
        let snippets = DevSnippets(settings: settings, origin: self.origin())
        let nowSeconds = self.house.nowMillis / 1_000
        return [
            "run": .string(self.run), "app": .string(settings.app.isEmpty ? settings.appNamed : settings.app),
            "bootstrap": .string(settings.bootstrapShown), "apns": .string(settings.apnsShown),
            "eventsTopic": .string(settings.eventsTopic), "origin": .string(self.origin()),
            "workerPage": self.house.worker.adminPort.map { .string("http://127.0.0.1:\($0)/page") } ?? .null,
            "makesPhones": .bool(settings.makesPhones), "apps": .array(settings.apps.map { .string($0) }),
            "snippets": .array(
                snippets.all.map { ["name": .string($0.name), "text": .string($0.text)] }),
            "samples": .array(
                snippets.samples(
                    nowSeconds: nowSeconds,
                    given: self.house.store.schemas.schema(ofApp: self.house.app)
                ).map { ["name": .string($0.name), "text": .string($0.text)] }),
            "sampleMoments": .array(DevSnippets.moments(nowSeconds: nowSeconds).map { .integer($0) }),
        ]
    }

    /// Follows the state by server-sent events. A browser that was disconnected sends the revision that it has
    /// (`Last-Event-ID`).
    func stream(_ request: Request) throws(DevRefusal) -> Response {
        let lastID = HTTPField.Name("last-event-id").flatMap { request.headers[$0] } ?? ""
        let parts = lastID.split(separator: ":")
        let known = parts.count == 2 && parts[0] == self.run ? Int(parts[1]) ?? 0 : 0
        guard let follower = self.house.store.followers.enter() else {
            throw DevRefusal(
                .serviceUnavailable, "\(DevPageLimits.followersMax) browsers and waits are open already: close some")
        }
        var headers = HTTPFields()
        headers[.contentType] = "text/event-stream"
        headers[.cacheControl] = "no-store"
        return Response(
            status: .ok, headers: headers,
            body: ResponseBody { writer in
                defer { follower.leave() }
                var revision = known
                var wasReady: Bool?
                for await _ in follower.wakes {
                    let isReady = self.house.worker.snapshot().isReady
                    let newest = self.house.store.read { $0.revision }
                    guard newest != revision || isReady != wasReady else {
                        try await writer.write(ByteBuffer(string: ": still here\n\n"))
                        continue
                    }
                    // An event, its push and its card arrive within a moment; gather them.
                    try? await Task.sleep(for: .milliseconds(DevPageLimits.gatherMillis))
                    let state = self.state(since: revision)
                    // The state that was sent may be newer than the revision that was read before.
                    revision = state["revision"].flatMap { Int($0.plainText) } ?? newest
                    wasReady = isReady
                    var news = ByteBuffer(string: "id: \(self.run):\(revision)\ndata: ")
                    news.writeBytes(DevAnswer.bytes(of: state))
                    news.writeString("\n\n")
                    try await writer.write(news)
                    // If the sleep is cancelled, the next write reports that.
                    try? await Task.sleep(for: .milliseconds(DevPageLimits.followDistanceMillis))
                }
                try await writer.finish(nil)
            })
    }

    /// Least time between two looks of one waiting request. It is shorter than the time for which a look counts.
    private static let lookSpacing = Duration.seconds(1)

    /// Waits until a phone shows what the request asks for, and answers 200. If none does in time, answers 504 with the
    /// reason.
    func wait(_ request: Request) async throws -> Response {
        let condition: WaitCondition
        let query = try FormQuery(of: request)
        do {
            condition = try WaitCondition(query.parameters)
        } catch {
            throw DevRefusal(.badRequest, error.description)
        }
        guard let follower = self.house.store.followers.enter() else {
            throw DevRefusal(
                .serviceUnavailable, "\(DevPageLimits.followersMax) browsers and waits are open already: close some")
        }
        defer { follower.leave() }
        let alarm = Task {
            try? await Task.sleep(for: .seconds(condition.timeoutSeconds))
            follower.leave()
        }
        defer { alarm.cancel() }
        // The stream yields once at the beginning, and ends when the time is over.
        var lookedAt: ContinuousClock.Instant?
        for await _ in follower.wakes {
            // In a flood the stream yields often, so look at most once in `lookSpacing`.
            if lookedAt.map({ .now - $0 >= Self.lookSpacing }) ?? true {
                await self.house.look(at: condition.activity)
                lookedAt = .now
            }
            if case .success(let answer) = self.answer(condition) { return answer }
        }
        await self.house.look(at: condition.activity)
        await self.house.askWhatWaits(ageMillisMin: 0)
        switch self.answer(condition) {
        case .success(let answer): return answer
        case .failure(let unmet):
            return DevAnswer.refusal(.gatewayTimeout, "after \(condition.timeoutSeconds) s: \(unmet.text)")
        }
    }

    private func answer(_ condition: WaitCondition) -> Result<Response, DevRefusal> {
        self.house.store.read { timeline in
            switch condition.answer(timeline) {
            case .met(let phone): .success(DevAnswer.json(timeline.phones[phone].map(timeline.json) ?? .null))
            case .metByMembers(let audience, let members):
                .success(DevAnswer.json(["audience": .integer(audience), "members": .integer(members)]))
            case .unmet(let reason): .failure(DevRefusal(.gatewayTimeout, reason))
            }
        }
    }

    func search(_ request: Request) async throws -> Response {
        let parameters = try FormQuery(of: request)
        let names = parameters.parameters.map(\.name)
        if let foreign = names.first(where: { !["search", "before"].contains($0) }) {
            throw DevRefusal(
                .badRequest,
                "“\(foreign.prefix(40))” is not a parameter: expected search, such as search=activity:order-7, or before, an entry's "
                    + "number; the fields of a search are \(EntryQuery.names.joined(separator: ", "))")
        }
        if let twice = names.first(where: { name in names.count { $0 == name } > 1 }) {
            throw DevRefusal(.badRequest, "“\(twice)” is given twice")
        }
        var before: Int?
        if let given = parameters["before"] {
            guard let number = Int(given), number > 0 else {
                throw DevRefusal(.badRequest, "“before” is “\(given.prefix(40))”: expected an entry's number")
            }
            before = number
        }
        let query: EntryQuery
        let text = parameters["search"] ?? ""
        do {
            query = try EntryQuery(text)
        } catch {
            throw DevRefusal(.badRequest, error.description)
        }
        for activity in query.activities { await self.house.look(at: activity) }
        let found = self.house.store.read { timeline in timeline.search(query, before: before).map(timeline.json) }
        return DevAnswer.json(.array(found))
    }

    /// What can be copied from an entry: commands, Swift code and JSON. A record whose key is a device token has no
    /// commands, because the key is hidden.
    func copies(_ entry: TimelineEntry) -> JSONTree {
        let settings = self.house.settings
        switch entry.body {
        case .event(let event):
            guard let shown = event.reading.shown else { return [:] }
            let whole = event.record.value.flatMap { try? JSONTree.parse($0) }.map(TokenHiding.publishable) ?? shown
            let isComplete = event.record.key.map { String(decoding: $0, as: UTF8.self) } == event.key
            let kcat = Snippets.kcat(
                bootstrap: settings.bootstrapShown, topic: settings.eventsTopic, key: event.key, event: whole.text)
            let curl = Snippets.curl(origin: self.origin(), activity: event.key, event: whole.text)
            let app = event.reading.event.map { $0.app.isEmpty ? settings.app : $0.app } ?? settings.app
            return [
                "curl": isComplete ? .string(curl) : nil, "kcat": isComplete ? kcat.map { .string($0) } : nil,
                "swift": event.reading.event?.contentState.map { .string(self.swiftType($0, app: app)) },
                "test": self.test(event.reading.event?.contentState, entry, app: app), "fixture": self.fixture(entry),
                "json": .string(whole.prettyText), "shown": .string(shown.prettyText),
            ]
        case .push(let push):
            return self.copies(
                push.contentState, of: entry, app: self.house.store.read { $0.phones[push.phone]?.app } ?? "")
        case .broadcast(let broadcast): return self.copies(broadcast.contentState, of: entry, app: settings.app)
        case .note: return [:]
        }
    }

    private func copies(_ content: JSONTree?, of entry: TimelineEntry, app: String) -> JSONTree {
        [
            "swift": content.map { .string(self.swiftType($0, app: app)) }, "test": self.test(content, entry, app: app),
            "fixture": self.fixture(entry), "json": content.map { .string(TokenHiding.hidden($0).prettyText) },
        ]
    }

    /// The Swift type that the developer gave. Without one, a type that decodes this content and the developer's
    /// sample.
    private func swiftType(_ content: JSONTree, app: String) -> String {
        let given = self.house.store.schemas.schema(ofApp: app)
        switch given?.schema.source {
        case .swift: return TokenText.shortened(given?.document.plainText ?? "")
        case .sample: return SwiftCode.contentState(content, sample: given?.document)
        case .schema, nil: return SwiftCode.contentState(content)
        }
    }

    private func fixture(_ entry: TimelineEntry) -> JSONTree? {
        self.house.store.read { $0.fixture(of: entry) }.map { .string($0.prettyText + "\n") }
    }

    private func test(_ content: JSONTree?, _ entry: TimelineEntry, app: String) -> JSONTree? {
        let type = self.house.store.read { timeline in
            timeline.phone(activity: entry.activity)?.attributesType ?? ""
        }
        let schema = self.house.store.schemas.schema(ofApp: app)?.schema
        return content.map {
            .string(SwiftCode.test(of: $0, activity: entry.activity, attributesType: type, schema: schema))
        }
    }
}
