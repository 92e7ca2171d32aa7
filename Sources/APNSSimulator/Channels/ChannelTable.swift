import DeviceModel

/// The newest message of a channel, stored for phones that are away.
struct StoredMessage {
    var body: [UInt8]
    var priority: Int
    /// Number of messages that the channel had published, including this one.
    var sequence: Int
    /// When the message expires, seconds since 1970.
    var expirationSeconds: Int64
}

/// One broadcast channel.
struct BroadcastChannel {
    /// The id, base64.
    let id: [UInt8]
    /// The app's bundle id.
    let app: String
    let storage: ChannelStorage
    /// When the channel was made, milliseconds since 1970.
    let createdMillis: Int64
    /// When the channel was deleted, milliseconds since 1970; `nil` if it is registered.
    var deletedMillis: Int64?
    /// Number of messages accepted so far.
    var published = 0
    /// When the last message was accepted, milliseconds since 1970.
    var lastPublishedMillis: Int64 = .min
    var stored: StoredMessage?
    /// Indices of the devices that listen.
    var listeners: [Int32] = []
    /// A phone that was always online and listened to the channel.
    var witness = Device()
    /// Number of messages left before 429, at `allowanceMillis`.
    var allowance: Double = 0
    var allowanceMillis: Int64 = .min

    var isRegistered: Bool { self.deletedMillis == nil }
}

/// Every channel that was made and may still be needed. Each has a number that is never reused.
struct ChannelTable {
    /// Maximum number of deleted channels that are kept for their stored messages; the oldest are dropped first.
    static let deletedKeptMax = 10_000

    private(set) var records: [Int32: BroadcastChannel] = [:]
    private var numbers: [[UInt8]: Int32] = [:]
    private var counts: [String: Int] = [:]
    /// Numbers of deleted channels in the order of deletion.
    private var deleted: [Int32] = []
    private var nextNumber: Int32 = 0

    /// Number of registered channels of all apps.
    var registeredCount: Int { self.counts.values.reduce(0, +) }

    /// Numbers of registered channels, oldest first. With `app` `nil`, the channels of all apps.
    func registered(app: String?) -> [Int32] {
        self.records.filter { $0.value.isRegistered && (app == nil || $0.value.app == app) }.keys.sorted()
    }

    /// Numbers of an app's channels that were registered at `atMillis`, oldest first. A channel that was deleted later
    /// is missing if its record is no longer kept.
    func registered(app: String, atMillis: Int64) -> [Int32] {
        self.records.filter { _, record in
            record.app == app && record.createdMillis <= atMillis && (record.deletedMillis ?? .max) > atMillis
        }.keys.sorted()
    }

    func registeredCount(app: String) -> Int { self.counts[app, default: 0] }

    subscript(number: Int32) -> BroadcastChannel? { self.records[number] }

    /// Changes an existing record.
    mutating func change(_ number: Int32, _ body: (inout BroadcastChannel) -> Void) {
        guard let index = self.records.index(forKey: number) else { return }
        body(&self.records.values[index])
    }

    /// Number of a channel by its id, also of a deleted one that is still known.
    func number(id: [UInt8]) -> Int32? { self.numbers[id] }

    /// Adds a channel and returns its number. The id must be new.
    mutating func add(id: [UInt8], app: String, storage: ChannelStorage, atMillis: Int64) -> Int32 {
        let number = self.nextNumber
        self.nextNumber += 1
        self.records[number] = BroadcastChannel(id: id, app: app, storage: storage, createdMillis: atMillis)
        self.numbers[id] = number
        self.counts[app, default: 0] += 1
        return number
    }

    /// Deletes a channel. If there is no room for another deleted channel, forgets and returns the oldest one. The
    /// caller must then end the listening of the returned channel's listeners.
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
