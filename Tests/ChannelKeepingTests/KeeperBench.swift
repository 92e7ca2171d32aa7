import APNSProtocol
import PushModel

@testable import ChannelKeeping

/// A keeper whose state is acknowledged at once, and whose requests the test answers.
struct KeeperBench {
    var keeper: ChannelKeeper
    var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_700_000_000_000)
    /// The keeper's actions, except writes, since the test last took them.
    var actions: [KeeperAction] = []
    var state: [Int64: KeptChannel] = [:]

    init(_ settings: KeeperSettings = KeeperSettings(), records: [(number: Int64, channel: KeptChannel)] = []) {
        self.keeper = ChannelKeeper(settings: settings, records: records, seed: 1, now: self.now)
        for record in records { self.state[record.number] = record.channel }
        self.take { $0.timePassed(now: $1) }
    }

    mutating func take(_ body: (inout ChannelKeeper, EngineTime) -> [KeeperAction]) {
        var open = body(&self.keeper, self.now)
        while !open.isEmpty {
            let action = open.removeFirst()
            guard case .write(let number, let channel, let write) = action else {
                self.actions.append(action)
                continue
            }
            self.state[number] = channel
            open += self.keeper.stateAcknowledged(write: write, now: self.now)
        }
    }

    mutating func wait(_ millis: Int64) {
        self.now.steadyMillis += millis
        self.now.wallMillis += millis
        self.take { $0.timePassed(now: $1) }
    }

    /// The requests for lists.
    var lists: [UInt64] { self.actions.compactMap { if case .list(let request) = $0 { request } else { nil } } }
    var creations: [UInt64] {
        self.actions.compactMap { if case .create(let request, _) = $0 { request } else { nil } }
    }
    var deletions: [(UInt64, [UInt8])] {
        self.actions.compactMap { if case .delete(let request, let id) = $0 { (request, id) } else { nil } }
    }
    var beacons: [UInt64] {
        self.actions.compactMap { if case .beacon(let request, _, _, _) = $0 { request } else { nil } }
    }
    var news: [KeeperNews] {
        self.actions.compactMap {
            switch $0 {
            case .announce(_, _, let news), .send(_, let news): news
            default: nil
            }
        }
    }
    var alarms: [KeeperAlarm] { self.actions.compactMap { if case .alarm(let alarm) = $0 { alarm } else { nil } } }

    mutating func list(_ ids: [String]) {
        guard let request = self.lists.last else { return }
        self.take { $0.listed(request: request, .listed(ids.map { Array($0.utf8) }), now: $1) }
    }
    mutating func create(_ answer: CreateAnswer) {
        guard let request = self.creations.last else { return }
        self.take { $0.created(request: request, answer, now: $1) }
    }
    mutating func announceAll() {
        for action in self.actions {
            guard case .announce(let announcement, _, _) = action else { continue }
            self.take { $0.announced(announcement: announcement, now: $1) }
        }
    }

    static func owner(_ name: String, life: Int64 = 1) -> KeptOwner {
        KeptOwner(audience: Array(name.utf8), life: life)
    }
    mutating func open(_ name: String, life: Int64 = 1, receipt: UInt64 = 1) {
        self.take { $0.audienceOpens(Self.owner(name, life: life), policy: .none, receipt: receipt, now: $1) }
    }
}
