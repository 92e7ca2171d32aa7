import ChildProcesses
import CommandSupport
import Upstream

/// Plays the audiences of a run. It makes their publications, and informs the simulated APNs about tokens that are new
/// or dead and about phones that listen. Only the task of the run uses it.
final class ChaosAudiences {
    private let stage: ChaosStage
    private var traffic: AudienceTraffic
    private var starts: StartTraffic
    /// Steps that APNs does not know yet, oldest first. APNs may be down.
    private var unsent: [AudienceTraffic.Step] = []
    /// Records about phones with a new token or another channel, and when their apps publish them, milliseconds since
    /// 1970.
    private var changed: [(dueMillis: Int64, token: String, records: [Publication])] = []
    private let tidings: ChannelTidings
    /// Tokens that APNs calls dead.
    private(set) var dead: Set<String> = []
    /// Phones that listen on an audience's channel as soon as an outcome names it. No worker ever gets their tokens.
    private(set) var silent: [SilentListener] = []

    /// Number of audiences of start members.
    static let startAudienceCount = 6

    /// Follows the outcomes, which name the audiences' channels. Throws a `KafkaError` when they cannot be read.
    init(
        count: Int, memberCount: Int, startMemberCount: Int, stage: ChaosStage, durationMillis: Int64, seed: UInt64
    ) throws {
        self.stage = stage
        self.tidings = try ChannelTidings(stage)
        self.traffic = AudienceTraffic(
            count: count, memberCount: memberCount, durationMillis: durationMillis, seed: seed)
        self.starts = StartTraffic(
            count: Self.startAudienceCount, memberCount: startMemberCount, durationMillis: durationMillis, seed: seed)
    }

    /// Whether no step waits for APNs, and no record waits to be published.
    var isUpToDate: Bool { self.unsent.isEmpty && self.changed.isEmpty }

    /// Publications that are due by now. The parameters are those of `AudienceTraffic.steps`.
    func publications(nowMillis: Int64, wallMillis: Int64) -> [Publication] {
        for news in self.tidings.take() {
            switch news {
            case .opened(let channel, let audience):
                self.traffic.opened(channel, of: audience)
                let listener = SilentListener(audience: audience, channel: channel, number: self.silent.count)
                self.silent.append(listener)
                self.unsent.append(
                    .listen(token: listener.token, channel: channel, delayMillis: 0, records: []))
            case .closed(let channel): self.traffic.closed(channel)
            }
        }
        let steps =
            self.traffic.steps(nowMillis: nowMillis, wallMillis: wallMillis) + self.starts.steps(nowMillis: nowMillis)
        return steps.compactMap { step in
            if case .publish(let publication) = step { return publication }
            self.unsent.append(step)
            return nil
        }
    }

    /// Sends APNs the steps that wait for it. Stops when APNs is down.
    /// - Returns: records that apps publish now about changed phones.
    func send(wallMillis: Int64) async throws -> [Publication] {
        while let step = self.unsent.first, try await self.send(step) {
            self.unsent.removeFirst()
            switch step {
            case .publish: break
            case .rotate(_, let token, let delayMillis, let records),
                .listen(let token, _, let delayMillis, let records):
                if let index = self.silent.firstIndex(where: { $0.token == token }) {
                    self.silent[index].listensMillis = wallMillis
                } else {
                    self.changed.append((wallMillis + delayMillis, token, records))
                }
            case .kill(let token): self.dead.insert(token)
            }
        }
        let due = self.changed.filter { $0.dueMillis <= wallMillis }
        self.changed.removeAll { $0.dueMillis <= wallMillis }
        for change in due { self.traffic.hasChanged(change.token) }
        return due.flatMap(\.records)
    }

    /// Sends APNs one step.
    /// - Returns: `false` when APNs is down.
    private func send(_ step: AudienceTraffic.Step) async throws -> Bool {
        let (path, body): (String, String)
        switch step {
        case .publish: return true
        case .rotate(let old, let new, _, _):
            (path, body) = ("/tokens/\(old)", "{\"state\":\"rotated\",\"to\":\"\(new)\"}")
        case .kill(let victim): (path, body) = ("/tokens/\(victim)", "{\"state\":\"dead\"}")
        case .listen(let token, let channel, _, _):
            (path, body) = ("/devices/\(token)", "{\"channel\":\"\(channel ?? "")\"}")
        }
        let answer = try await LocalHTTP.post(path, body: body, port: self.stage.apnsControlPort)
        guard let answer else { return false }
        guard answer.status == 200 else {
            throw CommandFailure("the simulated APNs refused \(body): \(answer.body)")
        }
        return true
    }
}
