import DeviceModel
import HTTPTypes
import Hummingbird
import PushInspection

/// Requests about broadcast channels of the simulated APNs.
extension DevRouter {
    func addChannels(to router: Router<BasicRequestContext>) {
        router.get("/api/channels") { _, _ in DevAnswer.json(self.house.channels) }
        router.post("/api/channels") { request, _ in try await self.makeChannel(request) }
        router.post("/api/channels/delete") { request, _ in
            let id = try await self.channelID(request)
            guard self.house.deleteChannel(id) else { throw Self.noChannel }
            return DevAnswer.json(["channel": .string(id), "done": "delete"])
        }
        router.post("/api/channels/listeners") { request, _ in
            let id = try await self.channelID(request)
            guard let phone = self.house.makeListener(channel: id) else { throw Self.noChannel }
            return DevAnswer.json(["channel": .string(id), "phone": .integer(phone)], status: .created)
        }
    }

    private static let noChannel = DevRefusal(.notFound, "there is no such channel")
    private static let storages = ["none": ChannelStorage.none, "most-recent": .mostRecent]

    private func makeChannel(_ request: Request) async throws -> Response {
        let body = try await Self.body(of: request)
        guard let document = try? JSONTree.parse(body.isEmpty ? Array("{}".utf8) : body),
            case .object(let members) = document, members.allSatisfy({ ["storage", "app"].contains($0.name) })
        else { throw DevRefusal(.badRequest, "the body must be {\"storage\": …}, and may have “app”") }
        let name = document["storage"]?.plainText ?? "none"
        guard let storage = Self.storages[name] else {
            throw DevRefusal(.badRequest, "“storage” is “\(name.prefix(40))”: expected none or most-recent")
        }
        let app = document["app"]?.plainText ?? self.house.app
        guard !app.isEmpty else {
            throw DevRefusal(.badRequest, "“app” is missing: expected a bundle id, as there are several apps")
        }
        guard let id = self.house.makeChannel(storage: storage, app: app) else {
            throw DevRefusal(
                .conflict, "there are \(DevPageLimits.channelsMax) channels already: delete a useless one")
        }
        return DevAnswer.json(["channel": .string(id), "app": .string(app)], status: .created)
    }

    private func channelID(_ request: Request) async throws -> String {
        guard let document = try? JSONTree.parse(try await Self.body(of: request)),
            case .string(let id)? = document["channel"]
        else { throw DevRefusal(.badRequest, "the body must be {\"channel\": ID}") }
        return id
    }
}
