import DeviceModel
import Glibc

/// Tokens, the devices behind them, their topics, and the channels that they listen to.
///
/// A device with a token of 32 bytes takes about 190 bytes, if its content is shared with other devices. Content that
/// only one device shows takes its own memory.
struct DeviceStore {
    /// Maximum number of distinct topics; a request with a further one is refused.
    static let topicsMax = 1_024
    /// Number of recent contents that other devices may share.
    private static let sharedContentsMax = 1_024

    var tokens = TokenTable()
    var devices = ChunkedArray<Device>()
    /// Every `start` that reached a phone.
    var starts = ChunkedArray<StartRecord>()
    /// Number of starts over the budget that put up no card.
    var startsOverBudgetCount = 0
    var updateTokens = UpdateTokenFeed()
    var contents = ContentPool(slotCount: Self.sharedContentsMax)
    var channels = ChannelTable()
    /// Phone states by index of the device.
    var phones: [Int32: PhoneState] = [:]
    /// Number of contents that cards got both over their channel and by their token.
    var bothWaysCount = 0
    private(set) var topics: [[UInt8]] = []
    let devicesMax: Int

    init(devicesMax: Int) { self.devicesMax = devicesMax }

    /// Adds a device behind a new token; `nil` if there is no room.
    mutating func addDevice(_ token: Span<UInt8>, hash: UInt64, status: TokenStatus = TokenStatus()) -> Int? {
        guard self.devices.count < self.devicesMax, self.tokens.count < self.devicesMax else { return nil }
        let device = Int32(self.devices.count)
        guard let index = self.tokens.insert(token, hash: hash, device: device, status: status) else { return nil }
        self.devices.append(Device())
        return index
    }

    /// Adds a token for an existing device; `nil` if there is no room.
    mutating func addToken(_ token: [UInt8], device: Int32) -> Int? {
        guard self.tokens.count < self.devicesMax else { return nil }
        return self.tokens.insert(
            token.span, hash: TokenTable.hash(token.span), device: device, status: TokenStatus())
    }

    /// Index of a token, which is added if new; `nil` if there is no room.
    mutating func findOrAdd(_ token: [UInt8]) -> Int? {
        let hash = TokenTable.hash(token.span)
        return self.tokens.find(token.span, hash: hash) ?? self.addDevice(token.span, hash: hash)
    }

    /// Index of a topic, which is added if new; `nil` if there is no room.
    mutating func topicIndex(_ topic: Span<UInt8>) -> Int16? {
        for index in self.topics.indices where topic.equals(self.topics[index]) { return Int16(index) }
        guard self.topics.count < Self.topicsMax else { return nil }
        self.topics.append(topic.array)
        return Int16(self.topics.count - 1)
    }

    mutating func setToken(_ token: [UInt8], _ status: TokenStatus) {
        guard let index = self.findOrAdd(token) else { return }
        self.tokens.setStatus(index, status)
        self.tokens[index].wasRefusedAsDead = false
    }

    /// Makes `new` lead to the device of `old`. If `old` is a push-to-start token that stays alive, `new` is the update
    /// token of its newest card.
    mutating func rotate(from old: [UInt8], to new: [UInt8], oldStatus: TokenStatus, nowMillis: Int64) {
        guard let oldIndex = self.findOrAdd(old) else { return }
        self.tokens.setStatus(oldIndex, oldStatus)
        let entry = self.tokens[oldIndex]
        let newHash = TokenTable.hash(new.span)
        let newIndex: Int
        if let known = self.tokens.find(new.span, hash: newHash) {
            newIndex = known
            self.tokens[newIndex].device = entry.device
            self.tokens.setStatus(newIndex, TokenStatus())
        } else {
            guard let added = self.addToken(new, device: entry.device) else { return }
            newIndex = added
            self.tokens[newIndex].topic = entry.topic
        }
        self.tokens[newIndex].start = entry.start
        let isFirstOfCard = oldStatus.state == .alive && self.isStartToken(oldIndex)
        self.tokens[newIndex].kind = isFirstOfCard ? .update : entry.kind
        if self.tokens[newIndex].kind == .update {
            self.giveUpdateToken(newIndex, toCardOf: entry.start, dueMillis: nowMillis)
        } else {
            self.moveStarts(from: oldIndex, to: newIndex)
        }
    }

    /// A copy of everything behind a token.
    func simulatedDevice(_ index: Int) -> SimulatedDevice {
        let entry = self.tokens[index]
        let device = Int(entry.device)
        return SimulatedDevice(
            token: TokenHex.encode(self.tokens.token(index)), kind: self.kind(ofToken: index),
            status: self.tokens.status(index),
            topic: entry.topic < 0 ? "" : String(decoding: self.topics[Int(entry.topic)], as: UTF8.self),
            device: self.devices[device], accepted: Int(entry.accepted), refused: Int(entry.refused),
            leastDistanceMillis: entry.leastDistanceMillis == .max ? nil : Int64(entry.leastDistanceMillis),
            inFlightPeak: Int(entry.inFlightPeak),
            starts: self.simulatedStarts(ofToken: index),
            channel: self.channel(of: device).map { String(decoding: $0.id, as: UTF8.self) },
            isOnline: self.isOnline(device), messages: Int(self.phones[entry.device]?.messageCount ?? 0),
            bothWays: Int(self.phones[entry.device]?.bothWaysCount ?? 0))
    }
}

extension Span<UInt8> {
    func equals(_ bytes: [UInt8]) -> Bool { self.equals(bytes[...]) }

    func equals(_ bytes: ArraySlice<UInt8>) -> Bool {
        guard self.count == bytes.count else { return false }
        guard self.count > 0 else { return true }
        // Both pointers are used within the closures only, and each points to `count` bytes.
        return self.withUnsafeBytes { left in
            bytes.withUnsafeBytes { right in memcmp(left.baseAddress!, right.baseAddress!, left.count) == 0 }
        }
    }

    func equals(_ text: StaticString) -> Bool {
        guard self.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<self.count where self[index] != text.utf8Start[index] { return false }
        return true
    }

    var array: [UInt8] { self.withUnsafeBufferPointer { Array($0) } }
}
