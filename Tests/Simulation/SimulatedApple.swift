import PushModel

/// An app in one of Apple's environments. Homes do not share channels.
struct KeptHome: Hashable {
    /// Index into `SimulationPlan.apps`.
    var app: UInt16
    var isDevelopment: Bool
}

/// Apple's channels of all homes, and who made them.
struct SimulatedApple {
    enum Maker: Equatable {
        /// The worker with this number.
        case worker(Int)
        case other
    }
    struct Channel {
        /// Id of the channel, in base64.
        var id: String
        var home: KeptHome
        var maker: Maker
        var stores: Bool
        var createdMillis: Int64
        var deletedMillis: Int64?
        /// Whether somebody other than a worker deleted it.
        var wasTakenAway = false
        /// When Apple first took an `end` for the channel, by the steady clock.
        var endedMillis: Int64?
        /// When Apple took beacons for the channel, by the steady clock.
        var beacons: [Int64] = []
        /// The newest message, kept for phones that are off.
        var stored: (body: [UInt8], untilSeconds: Int64)?

        var isRegistered: Bool { self.deletedMillis == nil }
    }

    /// The most channels that an app may have in an environment.
    static let countMax = 10_000

    private(set) var channels: [Channel] = []
    private var indices: [String: Int] = [:]
    private var counts: [KeptHome: Int] = [:]
    /// Channels that a list may show, by home, in the order in which they were made. A list is at most `listedMillis`
    /// old.
    private var listed: [KeptHome: [Int]] = [:]
    private static let listedMillis: Int64 = 60_000

    func count(_ home: KeptHome) -> Int { self.counts[home] ?? 0 }

    subscript(id: String) -> Channel? { self.indices[id].map { self.channels[$0] } }

    mutating func change(_ id: String, _ body: (inout Channel) -> Void) {
        guard let index = self.indices[id] else { return }
        body(&self.channels[index])
    }

    func isRegistered(_ id: String) -> Bool { self[id]?.isRegistered ?? false }

    /// Creates a channel.
    /// - Returns: its id; `nil`: the home is full.
    mutating func create(_ home: KeptHome, maker: Maker, stores: Bool, atMillis: Int64) -> String? {
        guard self.count(home) < Self.countMax else { return nil }
        // The id has a length that base64 can have. No activity has such a name.
        let digits = "0000000" + String(self.channels.count)
        let id = "kept" + digits.suffix(8)
        self.indices[id] = self.channels.count
        self.counts[home, default: 0] += 1
        self.listed[home, default: []].append(self.channels.count)
        self.channels.append(Channel(id: id, home: home, maker: maker, stores: stores, createdMillis: atMillis))
        return id
    }

    /// Deletes a channel.
    /// - Returns: `false`: the home has no such channel.
    mutating func delete(_ id: String, of home: KeptHome, atMillis: Int64) -> Bool {
        guard let index = self.indices[id], self.channels[index].home == home, self.channels[index].isRegistered else {
            return false
        }
        self.channels[index].deletedMillis = atMillis
        self.counts[home, default: 0] -= 1
        return true
    }

    /// The list of channels as it was at a moment.
    mutating func list(_ home: KeptHome, atMillis: Int64) -> [String] {
        self.listed[home]?.removeAll { (self.channels[$0].deletedMillis ?? .max) < atMillis - Self.listedMillis }
        return (self.listed[home] ?? []).filter { index in
            let channel = self.channels[index]
            return channel.createdMillis <= atMillis && (channel.deletedMillis ?? .max) > atMillis
        }.map { self.channels[$0].id }
    }

    func registered(_ home: KeptHome) -> [Channel] {
        (self.listed[home] ?? []).map { self.channels[$0] }.filter(\.isRegistered)
    }
}
