import APNSProtocol
import PushModel
import Testing

@testable import ChannelKeeping

struct KeptChannelCodecTests {
    static let owner = KeptOwner(audience: Array("match-1".utf8), life: 1_700_000_000)

    static func sample(_ phase: KeptChannel.Phase) -> KeptChannel {
        var channel = KeptChannel(
            owner: phase == .possiblyOurs ? nil : Self.owner, policy: .mostRecent, phase: phase, sinceMillis: -5)
        if phase != .wanted, phase != .asked {
            channel.id = Array("dGVzdA==".utf8)
            channel.openedMillis = 1_700_000_000_123
        }
        if phase == .asked { channel.strangers = [1, 2, .max] }
        if [.ended, .deleting, .deleted].contains(phase) {
            channel.endedMillis = 1_700_000_100_000
            channel.beaconsSent = 3
            channel.end = [1, 2, 3]
        }
        channel.isAnnounced = phase == .ended
        return channel
    }

    @Test(arguments: KeptChannel.Phase.allCases)
    func whatIsWrittenIsRead(phase: KeptChannel.Phase) throws {
        let channel = Self.sample(phase)
        let read = try KeptChannelCodec.decode(KeptChannelCodec.encode(channel, epoch: 4_711))
        #expect(read.channel == channel)
        #expect(read.epoch == 4_711)
    }

    /// A record that is cut anywhere, or has a surplus byte at its end, is refused.
    @Test(arguments: KeptChannel.Phase.allCases)
    func whatIsCutShortIsRefused(phase: KeptChannel.Phase) {
        let bytes = KeptChannelCodec.encode(Self.sample(phase), epoch: 1)
        for count in 0..<bytes.count {
            #expect(throws: StateError.self) { try KeptChannelCodec.decode(Array(bytes.prefix(count))) }
        }
        #expect(throws: StateError.malformed("bytes behind a kept channel")) {
            try KeptChannelCodec.decode(bytes + [0])
        }
    }

    @Test func mutatedBytesNeverTrap() {
        var random = SplitMix64(seed: 7)
        for _ in 0..<20_000 {
            let phase = KeptChannel.Phase.allCases.randomElement(using: &random)!
            var bytes = KeptChannelCodec.encode(Self.sample(phase), epoch: 1)
            for _ in 0..<3 {
                bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(in: .min ... .max, using: &random)
            }
            guard let read = try? KeptChannelCodec.decode(bytes) else { continue }
            // A record that can be read can be written again. Read once more, it is the same record.
            let again = KeptChannelCodec.encode(read.channel, epoch: read.epoch)
            #expect((try? KeptChannelCodec.decode(again).channel) == read.channel)
        }
    }

    @Test func faultsSayWhatIsWrong() {
        var bytes = KeptChannelCodec.encode(Self.sample(.open), epoch: 1)
        bytes[3] = 9
        #expect(throws: StateError.malformed("a kept channel in phase 9")) { try KeptChannelCodec.decode(bytes) }
        bytes[0] = 2
        #expect(throws: StateError.unknownVersion(2)) { try KeptChannelCodec.decode(bytes) }
    }

    @Test func fieldsThatContradictEachOtherAreRefused() {
        var wanted = Self.sample(.wanted)
        wanted.owner = nil
        var ended = Self.sample(.ended)
        ended.endedMillis = nil
        var shown = Self.sample(.possiblyOurs)
        shown.owner = Self.owner
        var open = Self.sample(.open)
        open.endedMillis = 1
        var unsorted = Self.sample(.asked)
        unsorted.strangers = [2, 1]
        var spaced = Self.sample(.open)
        spaced.id = Array("a b".utf8)
        for channel in [wanted, ended, shown, open, unsorted, spaced] {
            #expect(throws: StateError.self) {
                try KeptChannelCodec.decode(KeptChannelCodec.encode(channel, epoch: 0))
            }
        }
    }

    @Test func keysNameAppEnvironmentAndNumber() throws {
        for environment in PushEnvironment.allCases {
            let key = KeptChannelKey(bundleID: "com.example.pizza", environment: environment, number: 42)
            #expect(try KeptChannelKey(key.bytes) == key)
        }
        #expect(
            KeptChannelKey(bundleID: "a.b", environment: .development, number: 0).bytes == Array("k/a.b/d/0".utf8))
        for text in [
            "k/a/p", "k//p/1", "k/a/x/1", "k/a/p/01", "k/a/p/-1", "k/a/p/+1", "k/a/p/", "o/a/p/1", "k/a/p/1/2",
        ] {
            #expect(throws: StateError.self) { try KeptChannelKey(Array(text.utf8)) }
        }
    }
}

extension KeptChannelCodec {
    /// The complete value of a record, with version and kind.
    static func encode(_ channel: KeptChannel, epoch: Int64) -> [UInt8] {
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        bytes.append(using: &scratch) {
            Self.write(channel, epoch: epoch, to: &$0)
        }
        return bytes
    }
    static func decode(_ value: [UInt8]) throws(StateError) -> (channel: KeptChannel, epoch: Int64) {
        var reader = StateReader(value.span)
        let version = try reader.byte()
        guard version == Self.version else { throw .unknownVersion(version) }
        let kind = try reader.byte()
        guard kind == Self.kind else { throw .malformed("a record of kind \(kind)") }
        return try Self.read(&reader)
    }
}
