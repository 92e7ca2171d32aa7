import ChannelKeeping
import CommandSupport
import KafkaLog
import PushModel
import PushTransport

/// What `state` says about the kept channels of one app in one environment.
struct KeptChannelRecords {
    /// A record that cannot be read, and why.
    struct Unreadable: Equatable {
        var partition: Int32
        var offset: Int64
        var reason: String
    }

    private let home: ChannelHome
    private(set) var channels: [Int64: KeptChannel] = [:]
    private var unreadableByNumber: [Int64: Unreadable] = [:]
    /// Unreadable records, by the number of the channel.
    var unreadable: [Unreadable] { self.unreadableByNumber.sorted { $0.key < $1.key }.map(\.value) }

    init(of home: ChannelHome) { self.home = home }

    /// Takes the records of `state` in the order of the log. Ignores records of other apps and environments.
    mutating func add(_ record: OwnedRecord) {
        guard let keyBytes = record.key, let key = try? KeptChannelKey(keyBytes), key.bundleID == self.home.bundleID,
            key.environment == self.home.environment
        else { return }
        // Only the newest record of a key counts.
        self.channels[key.number] = nil
        self.unreadableByNumber[key.number] = nil
        guard let value = record.value else { return }
        do throws(StateError) {
            self.channels[key.number] = try Self.read(value)
        } catch {
            self.unreadableByNumber[key.number] = Unreadable(
                partition: record.partition, offset: record.offset, reason: Self.text(error))
        }
    }

    private static func read(_ value: [UInt8]) throws(StateError) -> KeptChannel {
        var reader = StateReader(value.span)
        let version = try reader.byte()
        guard version == KeptChannelCodec.version else { throw .unknownVersion(version) }
        let kind = try reader.byte()
        guard kind == KeptChannelCodec.kind else { throw .malformed("a record of kind \(kind) in place of a channel") }
        return try KeptChannelCodec.read(&reader).channel
    }

    private static func text(_ error: StateError) -> String {
        switch error {
        case .unknownVersion(let version): "version \(version), which this release does not know"
        case .malformed(let text): text
        case .truncated: "it is cut short"
        }
    }
}
