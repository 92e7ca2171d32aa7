import DeviceModel
import Hummingbird
import PushModel

/// Requests about channels, and about phones that listen or are away.
extension ControlServer {
    /// Maximum number of channels in an answer if the request has no `limit`.
    static let channelsShown = 100

    func addChannels(to router: Router<BasicRequestContext>) {
        let simulator = self.simulator
        router.get("/channels") { request, _ in
            let app = request.uri.queryParameters.get("app")
            let limit = request.uri.queryParameters.get("limit").map { Int($0) ?? -1 } ?? Self.channelsShown
            guard limit >= 0 else { return Self.refusal("'limit' must be a whole number, 0 or more") }
            return Self.object { json in
                json.array("channels", simulator.channels(app: app, limit: limit), isOneALine: true) {
                    Self.append($0, to: &$1)
                }
            }
        }
        router.post("/channels") { request, _ in
            try await Self.answering(request) { body async throws(FlatDocument.Refusal) in
                var document = try FlatDocument(body)
                guard let app = try document.text("app"), !app.isEmpty else {
                    throw FlatDocument.Refusal(text: "'app' is missing: the bundle id")
                }
                let policy = try document.integer("message-storage-policy", in: 0...1) ?? 0
                try document.finish()
                guard let id = simulator.createChannel(app: app, storage: policy == 0 ? .none : .mostRecent) else {
                    throw FlatDocument.Refusal(text: "'\(app)' has as many channels as it may")
                }
                return Self.object { $0.member("id", id) }
            }
        }
        router.delete("/channels") { request, _ in
            try await Self.answering(request) { body async throws(FlatDocument.Refusal) in
                var document = try FlatDocument(body)
                guard let id = try document.text("id") else { throw FlatDocument.Refusal(text: "'id' is missing") }
                try document.finish()
                guard simulator.deleteChannel(id: id) else {
                    return Self.refusal("no channel with this id", .notFound)
                }
                return Self.done
            }
        }
        router.post("/apps/:app") { request, context in
            let app = try context.parameters.require("app")
            return try await Self.answering(request) { body async throws(FlatDocument.Refusal) in
                var document = try FlatDocument(body)
                let isOn = try document.bool("broadcasts")
                let countMax = try document.integer("channels-max", in: 0...Int(Int32.max))
                try document.finish()
                guard isOn != nil || countMax != nil else {
                    throw FlatDocument.Refusal(text: "give 'broadcasts' (true or false), 'channels-max', or both")
                }
                if let isOn { simulator.setBroadcasts(isOn, app: app) }
                if let countMax { simulator.setChannelsMax(countMax, app: app) }
                return Self.done
            }
        }
        router.post("/devices/:token") { request, context in
            let token = try context.parameters.require("token")
            return try await Self.answering(request) { body async throws(FlatDocument.Refusal) in
                var document = try FlatDocument(body)
                let (channel, isOnline) = (try document.text("channel"), try document.bool("online"))
                try document.finish()
                guard channel != nil || isOnline != nil else {
                    throw FlatDocument.Refusal(text: "give 'channel' (an id, or \"\" for none), 'online', or both")
                }
                if let channel, !simulator.setListening(token: token, channel: channel.isEmpty ? nil : channel) {
                    throw FlatDocument.Refusal(text: "no such channel, or not the hex digits of a token")
                }
                if let isOnline, !simulator.setOnline(token: token, isOnline) {
                    throw FlatDocument.Refusal(text: "a token is an even number of hex digits, at most 512")
                }
                return Self.done
            }
        }
    }

    private static func append(_ channel: SimulatedChannel, to json: inout JSONWriter) {
        json.object { json in
            json.member("id", channel.id)
            json.member("app", channel.app)
            json.member("message-storage-policy", channel.storage.rawValue)
            json.member("createdMillis", channel.createdMillis)
            json.member("published", channel.publishedCount)
            json.member("listeners", channel.listenerCount)
            json.member("stored", json: channel.storedBody)
            json.member("content-state", json: channel.witness.contentState)
            json.member("newestAlert", json: channel.witness.alerts.last ?? [])
            json.member("ended", channel.witness.phase == .ended || channel.witness.phase == .endedBySystem)
        }
    }
}
