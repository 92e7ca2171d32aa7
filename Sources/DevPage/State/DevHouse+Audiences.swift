import APNSSimulator
import DeviceModel
import HTTPTypes
import Logging
import PushInspection
import PushModel
import Synchronization

/// Members of audiences that the page creates, and what members show.
extension DevHouse {
    /// The app of members that the page creates.
    var app: String { self.settings.app.isEmpty ? self.settings.appNamed : self.settings.app }

    /// What can be done to the members of an audience.
    enum AudienceAction: String, CaseIterable {
        /// A tenth of the members that are present goes offline.
        case offline
        /// All members that are offline return.
        case online
        /// One more member gets a phone with a card.
        case watch
    }

    /// Lets simulated phones join an audience, as their apps and a server would do it.
    /// - Parameter isStart: whether they join with push-to-start tokens; otherwise with update tokens.
    func joinMembers(_ count: Int, audience: String, isStart: Bool) async throws {
        let tokens = (0..<count).map { _ in Self.newToken() }
        for token in tokens {
            self.simulator.setToken(token, .alive)
            if isStart { self.simulator.setTokenKind(token, .start) }
        }
        let nowMillis = self.nowMillis
        self.store.change { timeline in
            for token in tokens {
                timeline.joinMember(token: token, audience: audience, isStartMember: isStart, app: self.app)
            }
            let what = isStart ? "push-to-start tokens" : "update tokens"
            timeline.addNote(
                "\(count) simulated phones joined the audience “\(audience)” with \(what).", phone: 0,
                nowMillis: nowMillis, activity: audience)
        }
        let value = self.joining(audience, isStart: isStart)
        for start in stride(from: 0, to: count, by: DevPageLimits.joinsAtOnce) {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for token in tokens[start..<min(count, start + DevPageLimits.joinsAtOnce)] {
                    group.addTask { _ = try await self.publish(key: Array(token.utf8), value: value) }
                }
                try await group.waitForAll()
            }
        }
    }

    /// The event by which a token joins an audience.
    private func joining(_ audience: String, isStart: Bool) -> [UInt8] {
        var join: [JSONTree.Member] = [.init("event", "register"), .init("audience", .string(audience))]
        if !self.app.isEmpty { join.append(.init("app", .string(self.app))) }
        if isStart { join += [.init("token-type", "start"), .init("channel-capable", .bool(true))] }
        return JSONTree.object(join).bytes
    }

    /// Lets the new token of a member's phone join the audience, as its app and a server do.
    func rejoin(
        _ token: String, _ membership: (audience: String, isStartMember: Bool), of phone: SimulatedPhone
    ) async throws {
        let (audience, isStart) = membership
        if isStart { self.simulator.setTokenKind(token, .start) }
        _ = try await self.publish(key: Array(token.utf8), value: self.joining(audience, isStart: isStart))
        self.store.change { timeline in
            timeline.rejoin(token: token, audience: audience, isStartMember: isStart, app: phone.app)
        }
        self.addNote(
            "The app reported the new token to its server, which let it join the audience “\(audience)”.", on: phone)
    }

    /// Lets an update token join the newest audience of its phone, as the app of a started card and its server do.
    func join(_ audiences: [String], updateToken: String) async {
        // An update token is in one audience, so the newest wins.
        guard let audience = audiences.last else { return }
        let join: JSONTree = [
            "event": "register", "audience": .string(audience),
            "app": self.app.isEmpty ? nil : .string(self.app),
        ]
        do {
            _ = try await self.publish(key: Array(updateToken.utf8), value: join.bytes)
        } catch {
            self.logger.warning("an update token did not join", metadata: ["cause": "\(error)"])
        }
    }

    /// Performs an action on the members of an audience.
    /// - Returns: the phone of the member that is watched; `nil`: the action is for many members.
    /// - Throws: a refusal with the reason if it cannot be done.
    func perform(_ action: AudienceAction, on id: Int, member: Int?) throws(DevRefusal) -> Int? {
        let tokens = self.store.read { timeline in
            timeline.audiences.audiences.first { $0.id == id }.map { audience in
                audience.members.filter { !$0.hasLeft && ($0.glance?.isOnline ?? true) == (action == .offline) }
                    .map(\.token)
            }
        }
        guard let tokens else { throw DevRefusal(.conflict, "there is no such audience") }
        var watched: Int?
        switch action {
        case .offline:
            guard !tokens.isEmpty else { throw DevRefusal(.conflict, "no member is there") }
            // At least one member.
            for token in tokens.shuffled().prefix(max(1, tokens.count / 10)) {
                self.simulator.setOnline(token: token, false)
            }
        case .online:
            guard !tokens.isEmpty else { throw DevRefusal(.conflict, "no member is away") }
            for token in tokens { self.simulator.setOnline(token: token, true) }
        case .watch:
            guard let member else {
                throw DevRefusal(.conflict, "“member” is missing: expected its number, counted from 1")
            }
            watched = self.store.change { $0.watchMember(member, ofAudience: id) }
            guard watched != nil else { throw DevRefusal(.conflict, "the audience has no member \(member)") }
            self.lookAtPhones()
        }
        self.lookAtMembers()
        return watched
    }

    /// Looks at what each member shows, and reads each new content once.
    func lookAtMembers() {
        let known = self.memberReferences.withLock { $0.mapValues(\.count) }
        let joined = self.store.read { timeline in
            timeline.audiences.audiences.map { audience in
                (id: audience.id, tokens: audience.members.dropFirst(known[audience.id] ?? 0).map(\.token))
            }
        }
        guard !joined.isEmpty else { return }
        for audience in joined {
            let new = audience.tokens.isEmpty ? [] : self.simulator.references(tokens: audience.tokens)
            let references = self.memberReferences.withLock { all in
                // Two tasks may look at once. Then the second has nothing to add.
                if all[audience.id]?.count ?? 0 == known[audience.id] ?? 0 { all[audience.id, default: []] += new }
                return all[audience.id] ?? []
            }
            let members = references.indices.filter { references[$0] != nil }
            let glances = self.simulator.glances(references.compactMap { $0 })
            self.store.change { timeline in
                timeline.takeGlances(zip(members, glances).map { ($0, $1) }, of: audience.id)
            }
        }
        for wanted in self.store.read({ $0.contentsWanted }) {
            guard let device = self.simulator.device(token: wanted.token)?.device,
                device.contentHash == wanted.hash, let content = try? JSONTree.parse(device.contentState)
            else { continue }
            self.store.change { $0.setContent(content, hash: wanted.hash, of: wanted.audience) }
        }
    }
}
