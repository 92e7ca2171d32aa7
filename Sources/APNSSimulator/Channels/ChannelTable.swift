import DeviceModel

/// The newest message of a channel, kept for phones that are away.
struct StoredMessage {
    var body: [UInt8]
    var priority: Int
    /// How many messages the channel had published with it.
    var sequence: Int
    /// Seconds since 1970.
    var expirationSeconds: Int64
}

/// One broadcast channel.
struct BroadcastChannel {
    /// Base64.
    let id: [UInt8]
    /// Bundle id.
    let app: String
    let storage: ChannelStorage
    /// Milliseconds since 1970.
    let createdMillis: Int64
    /// Milliseconds since 1970; `nil`: it is registered.
    var deletedMillis: Int64?
    /// Messages taken so far.
    var published = 0
    /// When the last one was taken, milliseconds since 1970.
    var lastPublishedMillis: Int64 = .min
    var stored: StoredMessage?
    /// Phones that listen, as indices of devices.
    var listeners: [Int32] = []
    /// A phone that was always there.
    var witness = Device()
    /// Messages left before 429, as of `allowanceMillis`.
    var allowance: Double = 0
    var allowanceMillis: Int64 = .min

    var isRegistered: Bool { self.deletedMillis == nil }
}

/// Every channel that was made and is still of use, by a number that is never given twice.
struct ChannelTable {
    /// Deleted channels kept for what they stored; the oldest go first.
    static let deletedKeptMax = 10_000

    private(set) var records: [Int32: BroadcastChannel] = [:]
    private var numbers: [[UInt8]: Int32] = [:]
    private var counts: [String: Int] = [:]
    /// In the order they were deleted.
    private var deleted: [Int32] = []
    private var nextNumber: Int32 = 0

    /// Channels that are registered, of all apps.
    var registeredCount: Int { self.counts.values.reduce(0, +) }

    /// Numbers of registered channels, oldest first. `app` `nil`: of all.
    func registered(app: String?) -> [Int32] {
        self.records.filter { $0.value.isRegistered && (app == nil || $0.value.app == app) }.keys.sorted()
    }

    /// Numbers of an app's channels that were registered at a time, oldest first. Of those deleted since, the newest `deletedKeptMax` are known.
    func registered(app: String, atMillis: Int64) -> [Int32] {
        self.records.filter { _, record in
            record.app == app && record.createdMillis <= atMillis && (record.deletedMillis ?? .max) > atMillis
        }.keys.sorted()
    }

    func registeredCount(app: String) -> Int { self.counts[app, default: 0] }

    subscript(number: Int32) -> BroadcastChannel? { self.records[number] }

    /// Changes a record that is there.
    mutating func change(_ number: Int32, _ body: (inout BroadcastChannel) -> Void) {
        guard let index = self.records.index(forKey: number) else { return }
        body(&self.records.values[index])
    }

    /// A channel that was made, deleted ones that are still known included.
    func number(id: [UInt8]) -> Int32? { self.numbers[id] }

    /// Returns the new channel's number. The id must be new.
    mutating func add(id: [UInt8], app: String, storage: ChannelStorage, atMillis: Int64) -> Int32 {
        let number = self.nextNumber
        self.nextNumber += 1
        self.records[number] = BroadcastChannel(id: id, app: app, storage: storage, createdMillis: atMillis)
        self.numbers[id] = number
        self.counts[app, default: 0] += 1
        return number
    }

    /// Returns a channel that had to be forgotten for it: its listeners listen no more.
    mutating func delete(_ number: Int32, atMillis: Int64) -> BroadcastChannel? {
        guard let record = self.records[number], record.isRegistered else { return nil }
        self.change(number) { $0.deletedMillis = atMillis }
        self.counts[record.app, default: 0] -= 1
        self.deleted.append(number)
        guard self.deleted.count > Self.deletedKeptMax else { return nil }
        let oldest = self.deleted.removeFirst()
        guard let forgotten = self.records.removeValue(forKey: oldest) else { return nil }
        self.numbers[forgotten.id] = nil
        return forgotten
    }
}
