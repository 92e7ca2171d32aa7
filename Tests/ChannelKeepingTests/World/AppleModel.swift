import APNSProtocol

/// The channels that Apple has for one app, and who made each. An older list can be read, because Apple's list lags.
struct AppleModel {
    enum Maker: Equatable { case keeper, other }
    struct Channel {
        var id: [UInt8]
        var maker: Maker
        var policy: MessageStoragePolicy
        var createdMillis: Int64
        var deletedMillis: Int64?
    }

    let countMax: Int
    private(set) var channels: [Channel] = []
    private var indices: [[UInt8]: Int] = [:]

    init(countMax: Int) { self.countMax = countMax }

    var registeredCount: Int { self.channels.count { $0.deletedMillis == nil } }
    func channel(_ id: [UInt8]) -> Channel? { self.indices[id].map { self.channels[$0] } }
    func isRegistered(_ id: [UInt8]) -> Bool { self.channel(id).map { $0.deletedMillis == nil } ?? false }
    var registered: [Channel] { self.channels.filter { $0.deletedMillis == nil } }

    /// Creates a channel. Returns its id; `nil` if there are too many.
    mutating func create(_ maker: Maker, _ policy: MessageStoragePolicy, atMillis: Int64) -> [UInt8]? {
        guard self.registeredCount < self.countMax else { return nil }
        let id = Array("channel/\(self.channels.count)/\(maker)==".utf8)
        self.indices[id] = self.channels.count
        self.channels.append(Channel(id: id, maker: maker, policy: policy, createdMillis: atMillis))
        return id
    }

    /// Deletes a channel. Returns `false` if there is none with this id.
    mutating func delete(_ id: [UInt8], atMillis: Int64) -> Bool {
        guard let index = self.indices[id], self.channels[index].deletedMillis == nil else { return false }
        self.channels[index].deletedMillis = atMillis
        return true
    }

    /// The list as it was at a time.
    func list(atMillis: Int64) -> [[UInt8]] {
        self.channels.filter { $0.createdMillis <= atMillis && ($0.deletedMillis ?? .max) > atMillis }.map(\.id)
    }
}
