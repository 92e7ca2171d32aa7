import HTTPTypes
import Hummingbird
import PushInspection
import PushModel

/// Requests about audiences: simulated phones that join, and actions on them.
extension DevRouter {
    func addAudiences(to router: Router<BasicRequestContext>) {
        router.get("/api/audiences") { _, _ in
            DevAnswer.json(.array(self.house.store.read { $0.audiences.audiences.map(\.json) }))
        }
        router.post("/api/members") { request, _ in try await self.join(request) }
        router.post("/api/audiences/:id/:action") { request, context in try self.performOnAudience(request, context) }
    }

    private static let joinExpected =
        "the body must be {\"audience\": ID, \"count\": N}, and may have \"token-type\": \"start\""

    private func join(_ request: Request) async throws -> Response {
        let body = try await Self.body(of: request)
        guard let document = try? JSONTree.parse(body), case .object(let members) = document,
            members.allSatisfy({ ["audience", "count", "token-type"].contains($0.name) }),
            case .string(let audience)? = document["audience"], let countText = document["count"]?.plainText,
            let count = Int(countText)
        else { throw DevRefusal(.badRequest, Self.joinExpected) }
        guard (1...DevPageLimits.activityByteCountMax).contains(audience.utf8.count) else {
            throw DevRefusal(
                .badRequest,
                "“audience” has \(audience.utf8.count) bytes: expected 1 to \(DevPageLimits.activityByteCountMax)")
        }
        guard (1...DevPageLimits.membersPerJoinMax).contains(count) else {
            throw DevRefusal(.badRequest, "“count” is \(count): expected 1 to \(DevPageLimits.membersPerJoinMax)")
        }
        let kind = document["token-type"]?.plainText ?? "update"
        guard ["update", "start"].contains(kind) else {
            throw DevRefusal(.badRequest, "“token-type” is “\(kind.prefix(40))”: expected update or start")
        }
        let isTooMuch = self.house.store.read { timeline in
            timeline.audiences.memberCount + count > timeline.limits.audiences.membersMax
                || (timeline.audiences.audience(named: audience) == nil
                    && timeline.audiences.audiences.count >= timeline.limits.audiences.audiencesMax)
        }
        guard !isTooMuch else {
            let limits = Timeline.Limits().audiences
            throw DevRefusal(
                .conflict, "the page follows \(limits.audiencesMax) audiences and \(limits.membersMax) members in all")
        }
        try await self.house.joinMembers(count, audience: audience, isStart: kind == "start")
        let found = self.house.store.read { $0.audiences.audience(named: audience) }
        return DevAnswer.json(
            [
                "audience": .string(audience), "id": .integer(found?.id ?? 0), "joined": .integer(count),
                "members": .integer(found?.members.count ?? count),
            ], status: .created)
    }

    private func performOnAudience(_ request: Request, _ context: BasicRequestContext) throws -> Response {
        let name = context.parameters.get("action") ?? ""
        guard let action = DevHouse.AudienceAction(rawValue: name) else {
            let known = DevHouse.AudienceAction.allCases.map(\.rawValue).joined(separator: ", ")
            throw DevRefusal(
                .notFound, "“\(name.prefix(40))” is nothing that happens to an audience: expected \(known)")
        }
        guard let id = context.parameters.get("id").flatMap({ Int($0) }),
            self.house.store.read({ timeline in timeline.audiences.audiences.contains { $0.id == id } })
        else { throw DevRefusal(.notFound, "there is no such audience") }
        let member = try FormQuery(of: request)["member"].flatMap { Int($0) }
        let phone = try self.house.perform(action, on: id, member: member)
        return DevAnswer.json([
            "audience": .integer(id), "done": .string(action.rawValue), "phone": phone.map { .integer($0) },
        ])
    }
}
