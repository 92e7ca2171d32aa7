import APNSProtocol
import PushModel

/// What became of a version on one of its audience's channels, as the `audience` record tells it.
struct VersionBroadcast: Equatable {
    /// A reason of APNs' is no longer in the record.
    static let reasonByteCountMax = 64

    var environment: PushEnvironment
    var channel: [UInt8]
    /// APNs has taken it.
    var isAccepted = false
    /// Answers with another status, and the reason of the last of them.
    var refusedCount: UInt32 = 0
    var reason = ""
    /// Broadcasts without an answer.
    var unansweredCount: UInt32 = 0

    func append(listeners: UInt64, to bytes: inout [UInt8]) {
        bytes.append(utf8: "{\"environment\":")
        JSONBytes.appendString("\(self.environment)", to: &bytes)
        bytes.append(utf8: ",\"channel\":")
        JSONBytes.appendString(self.channel.span, to: &bytes)
        bytes.append(utf8: ",\"accepted\":")
        bytes.append(contentsOf: (self.isAccepted ? "true" : "false").utf8)
        bytes.append(utf8: ",\"refused\":")
        JSONBytes.appendInteger(Int64(self.refusedCount), to: &bytes)
        if !self.reason.isEmpty {
            bytes.append(utf8: ",\"reason\":")
            JSONBytes.appendString(self.reason, to: &bytes)
        }
        bytes.append(utf8: ",\"unanswered\":")
        JSONBytes.appendInteger(Int64(self.unansweredCount), to: &bytes)
        bytes.append(utf8: ",\"listeners\":")
        JSONBytes.appendInteger(Int64(clamping: self.isAccepted ? listeners : 0), to: &bytes)
        bytes.append(UInt8(ascii: "}"))
    }
}

extension RollUp {
    /// The channels that bring it to those who listen. A new owner knows from its book which of them have had it.
    mutating func beginBroadcasts(on channels: [AudienceChannels.Channel]) {
        self.broadcasts = self.version.channels.filter { declared in
            declared.serves || channels.contains { $0.id == declared.id && $0.isCatchingUp }
        }.map { declared in
            var broadcast = VersionBroadcast(environment: declared.environment, channel: declared.id)
            broadcast.isAccepted = channels.contains {
                $0.id == declared.id && $0.takenStampSeconds == self.version.stampSeconds
            }
            return broadcast
        }
    }
    /// A broadcast that brought it is answered, or lost.
    /// - Parameter errand: that has left.
    mutating func note(_ errand: ChannelErrand, _ result: PushAnswer.Result, nowMillis: Int64) {
        guard let index = self.broadcasts.firstIndex(where: { $0.channel == errand.target }) else { return }
        let wasAccepted = self.broadcasts[index].isAccepted
        switch result {
        case .accepted, .channel: self.broadcasts[index].isAccepted = true
        case .response(let response) where response.verdict == .accepted: self.broadcasts[index].isAccepted = true
        case .response(let response):
            self.broadcasts[index].refusedCount &+= 1
            self.broadcasts[index].reason = String(
                decoding: response.reason.utf8.prefix(VersionBroadcast.reasonByteCountMax), as: UTF8.self)
        case .unknown: self.broadcasts[index].unansweredCount &+= 1
        case .notProcessed: return
        }
        guard self.lastWriteMillis != .min else { return }
        // What has been written lacks it.
        let isNews = self.broadcasts[index].isAccepted != wasAccepted
        self.dueMillis = min(
            self.dueMillis, isNews ? nowMillis : max(nowMillis, self.lastWriteMillis + Self.rewriteMillis))
    }
}

extension ShardEngine {
    /// The `audience` record of the version that was broadcast says so.
    mutating func rollUp(_ errand: ChannelErrand, _ result: PushAnswer.Result, slot: SlotID, now: EngineTime) {
        guard
            let index = self.audiences.rollUps[slot]?.firstIndex(where: {
                $0.generation == self.memory.slots[slot].generation && $0.version.stampSeconds == errand.stampSeconds
            })
        else { return }
        self.audiences.rollUps[slot]?[index].note(errand, result, nowMillis: now.steadyMillis)
        self.scheduleRollUps(slot)
    }
}
