import PushModel

/// A home of channels: an app in one of Apple's two environments. Each home has its own channels.
struct KeptHome: Hashable {
    /// Index into `SimulationPlan.apps`.
    var app: UInt16
    var isDevelopment: Bool
}

/// Apple's channels of all apps in both environments, and who made them.
struct SimulatedApple {
    enum Maker: Equatable {
        /// The worker with this number made the channel.
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
        /// When Apple first took an `end` for the channel, by the steady clock. `nil`: it has taken none.
        var endedMillis: Int64?
        /// Times at which Apple took a repeated `end` for the channel, by the steady clock.
        var beacons: [Int64] = []
        /// The newest message, kept for phones that are off, and the time at which Apple drops it.
        var stored: (body: [UInt8], untilSeconds: Int64)?

        var isRegistered: Bool { self.deletedMillis == nil }
    }

    /// Maximum number of channels that an app may have in one environment.
    static let countMax = 10_000

    private(set) var channels: [Channel] = []
    private var indices: [String: Int] = [:]
    private var counts: [KeptHome: Int] = [:]
    /// Indexes of channels that may be in a list of Apple, by home, in order of creation. Channels that were deleted
    /// more than `listedMillis` ago are removed, because no list is older.
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
    /// - Returns: the channel's id. `nil`: the home already has the maximum number of channels.
    mutating func create(_ home: KeptHome, maker: Maker, stores: Bool, atMillis: Int64) -> String? {
        guard self.count(home) < Self.countMax else { return nil }
        // The length of the id is valid in base64. No activity has such an id.
        let digits = "0000000" + String(self.channels.count)
        let id = "kept" + digits.suffix(8)
        self.indices[id] = self.channels.count
        self.counts[home, default: 0] += 1
        self.listed[home, default: []].append(self.channels.count)
        self.channels.append(Channel(id: id, home: home, maker: maker, stores: stores, createdMillis: atMillis))
        return id
    }

    /// Deletes a channel.
    /// - Returns: whether the home had the channel.
    mutating func delete(_ id: String, of home: KeptHome, atMillis: Int64) -> Bool {
        guard let index = self.indices[id], self.channels[index].home == home, self.channels[index].isRegistered else {
            return false
        }
        self.channels[index].deletedMillis = atMillis
        self.counts[home, default: 0] -= 1
        return true
    }

    /// The list of the home's channels as it was at the given time.
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
