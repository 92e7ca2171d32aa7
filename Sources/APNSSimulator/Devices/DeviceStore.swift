import DeviceModel

/// Tokens, the devices behind them, the topics they belong to, and the channels they listen to.
struct DeviceStore {
    /// Distinct topics kept; a provider that invents more is refused.
    static let topicsMax = 1_024

    var tokens = TokenTable()
    var devices: [Device] = []
    var channels = ChannelTable()
    /// By index of the device.
    var phones: [Int32: PhoneState] = [:]
    private(set) var topics: [[UInt8]] = []
    let devicesMax: Int

    init(devicesMax: Int) { self.devicesMax = devicesMax }

    /// A new device behind a token not known before; `nil`: no room.
    mutating func addDevice(_ token: Span<UInt8>, hash: UInt64, standing: TokenStanding = TokenStanding()) -> Int? {
        guard self.devices.count < self.devicesMax, self.tokens.count < self.devicesMax else { return nil }
        self.devices.append(Device())
        return self.tokens.insert(token, hash: hash, device: Int32(self.devices.count - 1), standing: standing)
    }

    /// Index of a token, made known when new; `nil`: no room.
    mutating func findOrAdd(_ token: [UInt8]) -> Int? {
        let hash = TokenTable.hash(token.span)
        return self.tokens.find(token.span, hash: hash) ?? self.addDevice(token.span, hash: hash)
    }

    /// Index of a topic, made known when new; `nil`: no room.
    mutating func topicIndex(_ topic: Span<UInt8>) -> Int32? {
        for index in self.topics.indices where topic.equals(self.topics[index]) { return Int32(index) }
        guard self.topics.count < Self.topicsMax else { return nil }
        self.topics.append(topic.array)
        return Int32(self.topics.count - 1)
    }

    mutating func setToken(_ token: [UInt8], _ standing: TokenStanding) {
        guard let index = self.findOrAdd(token) else { return }
        self.tokens[index].standing = standing
        self.tokens[index].wasRefusedAsDead = false
    }

    /// `new` leads to the device of `old` from now on.
    mutating func rotate(from old: [UInt8], to new: [UInt8], oldStanding: TokenStanding) {
        guard let oldIndex = self.findOrAdd(old) else { return }
        self.tokens[oldIndex].standing = oldStanding
        let (device, topic) = (self.tokens[oldIndex].device, self.tokens[oldIndex].topic)
        let newHash = TokenTable.hash(new.span)
        if let newIndex = self.tokens.find(new.span, hash: newHash) {
            self.tokens[newIndex].device = device
            self.tokens[newIndex].standing = TokenStanding()
        } else if self.tokens.count < self.devicesMax {
            let newIndex = self.tokens.insert(new.span, hash: newHash, device: device, standing: TokenStanding())
            self.tokens[newIndex].topic = topic
        }
    }

    /// A copy of what lies behind a token.
    func simulatedDevice(_ index: Int) -> SimulatedDevice {
        let entry = self.tokens[index]
        let device = Int(entry.device)
        return SimulatedDevice(
            token: TokenText.encode(self.tokens.token(index)), standing: entry.standing,
            topic: entry.topic < 0 ? "" : String(decoding: self.topics[Int(entry.topic)], as: UTF8.self),
            device: self.devices[device], accepted: Int(entry.accepted), refused: Int(entry.refused),
            channel: self.channel(of: device).map { String(decoding: $0.id, as: UTF8.self) },
            isOnline: self.isOnline(device))
    }
}

extension Span<UInt8> {
    func equals(_ bytes: [UInt8]) -> Bool {
        guard self.count == bytes.count else { return false }
        // Both pointers are used within the closures only.
        return self.withUnsafeBytes { left in
            bytes.withUnsafeBytes { right in left.elementsEqual(right) }
        }
    }

    func equals(_ text: StaticString) -> Bool {
        guard self.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<self.count where self[index] != text.utf8Start[index] { return false }
        return true
    }

    var array: [UInt8] { self.withUnsafeBufferPointer { Array($0) } }
}
