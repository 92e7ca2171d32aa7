import ChildProcesses
import CommandSupport
import DeviceModel
import Foundation
import Upstream

/// Plays the channels of a run. It has them made, makes their publications, and informs the simulated APNs what their
/// phones do. Only the task of the run uses it.
final class ChaosChannels {
    private struct Created: Decodable { var id: String }

    private let stage: ChaosStage
    private var traffic: ChannelTraffic
    /// Notices that APNs has not got yet, oldest first. APNs may be down.
    private var notices: [ChannelTraffic.Notice] = []
    /// Channels in the order in which they were made.
    let channels: [ChannelTraffic.Channel]
    /// Ids of channels that are gone.
    private(set) var deleted: Set<String> = []

    /// Has channels made, and lets phones listen on them. Throws a `CommandFailure` when APNs makes no channel.
    init(count: Int, stage: ChaosStage, durationMillis: Int64, seed: UInt64) async throws {
        self.stage = stage
        var channels: [ChannelTraffic.Channel] = []
        for number in 0..<count {
            let (app, storage) = ChannelTraffic.plan(number)
            let body = "{\"app\":\"\(app)\",\"message-storage-policy\":\(storage.rawValue)}"
            guard let answer = try await LocalHTTP.post("/channels", body: body, port: stage.apnsControlPort),
                answer.status == 200
            else { throw CommandFailure("the simulated APNs made no channel of \(body)") }
            let created = try JSONDecoder().decode(Created.self, from: Data(answer.body.utf8))
            channels.append(ChannelTraffic.Channel(id: created.id, app: app, storage: storage))
        }
        self.channels = channels
        self.traffic = ChannelTraffic(channels: channels, durationMillis: durationMillis, seed: seed)
        self.notices = self.traffic.beginning
        try await self.send()
    }

    /// Whether APNs has got every notice.
    var isUpToDate: Bool { self.notices.isEmpty }

    /// Publications that are due by now. Notices for APNs wait for `send`. The parameters are those of
    /// `ChannelTraffic.steps`.
    func publications(nowMillis: Int64, wallMillis: Int64, rate: Int) -> [Publication] {
        self.traffic.steps(nowMillis: nowMillis, wallMillis: wallMillis, rate: rate).compactMap { step in
            switch step {
            case .publish(let publication): return publication
            case .send(let notice):
                self.notices.append(notice)
                return nil
            }
        }
    }

    /// Brings back every phone that is away.
    func wakeAll() { self.notices += self.traffic.wakeAll() }

    /// Sends APNs the waiting notices, oldest first. Stops when APNs does not answer.
    func send() async throws {
        while let notice = self.notices.first {
            guard let answer = try await self.send(notice) else { return }
            // 404 means that the channel is already deleted. APNs was then killed after the deletion, before it could
            // answer.
            let isDone = if case .delete = notice { answer.status == 404 } else { false }
            guard answer.status == 200 || isDone else {
                throw CommandFailure("the simulated APNs refused \(notice): \(answer.body)")
            }
            if case .delete(let channel) = notice { self.deleted.insert(channel) }
            self.notices.removeFirst()
        }
    }

    /// Sends APNs one notice.
    /// - Returns: the answer of APNs, or `nil` when it is down.
    private func send(_ notice: ChannelTraffic.Notice) async throws -> LocalHTTP.Answer? {
        let port = self.stage.apnsControlPort
        switch notice {
        case .listen(let token, let channel):
            return try await LocalHTTP.post("/devices/\(token)", body: "{\"channel\":\"\(channel)\"}", port: port)
        case .presence(let token, let isOnline):
            return try await LocalHTTP.post("/devices/\(token)", body: "{\"online\":\(isOnline)}", port: port)
        case .delete(let channel):
            return try await LocalHTTP.delete("/channels", body: "{\"id\":\"\(channel)\"}", port: port)
        }
    }
}
