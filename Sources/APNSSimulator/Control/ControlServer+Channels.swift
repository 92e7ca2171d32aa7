import DeviceModel
import Hummingbird
import PushModel

/// Requests about channels, and about phones that listen or are away.
extension ControlServer {
    /// Number of channels shown without `limit`.
    static let channelsShown = 100

    func addChannels(to router: Router<BasicRequestContext>) {
        let simulator = self.simulator
        router.get("/channels") { request, _ in
            let app = request.uri.queryParameters.get("app")
            let limit = request.uri.queryParameters.get("limit").map { Int($0) ?? -1 } ?? Self.channelsShown
            guard limit >= 0 else { return Self.refusal("'limit' must be a whole number, 0 or more") }
            var json: [UInt8] = Array("{\"channels\":[".utf8)
            for (index, channel) in simulator.channels(app: app, limit: limit).enumerated() {
                json += Array((index == 0 ? "\n" : ",\n").utf8)
                Self.append(channel, to: &json)
            }
            return Self.json(json + Array("\n]}\n".utf8))
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
                var json: [UInt8] = []
                var object = JSONObjectWriter(&json)
                object.text("id", id, &json)
                object.end(&json)
                return Self.json(json + [UInt8(ascii: "\n")])
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

    private static var done: Response { Self.json(Array("{\"ok\":true}\n".utf8)) }

    private static func append(_ channel: SimulatedChannel, to json: inout [UInt8]) {
        var object = JSONObjectWriter(&json)
        object.text("id", channel.id, &json)
        object.text("app", channel.app, &json)
        object.integer("message-storage-policy", Int64(channel.storage.rawValue), &json)
        object.integer("createdMillis", channel.createdMillis, &json)
        object.integer("published", Int64(channel.publishedCount), &json)
        object.integer("listeners", Int64(channel.listenerCount), &json)
        object.raw("stored", channel.storedBody, &json)
        object.raw("content-state", channel.witness.contentState, &json)
        object.raw("newestAlert", channel.witness.alerts.last ?? [], &json)
        object.bool("ended", channel.witness.phase == .ended || channel.witness.phase == .endedBySystem, &json)
        object.end(&json)
    }
}
