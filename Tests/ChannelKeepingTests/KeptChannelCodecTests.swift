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

    /// Cut anywhere, or with a byte behind it, a record is refused and not guessed at.
    @Test(arguments: KeptChannel.Phase.allCases)
    func whatIsCutShortIsRefused(phase: KeptChannel.Phase) {
        let bytes = KeptChannelCodec.encode(Self.sample(phase), epoch: 1)
        for count in 0..<bytes.count {
            #expect(throws: KeptChannelFault.self) { try KeptChannelCodec.decode(Array(bytes.prefix(count))) }
        }
        #expect(throws: KeptChannelFault.malformed(field: "record", value: "1 bytes longer", expected: "its end")) {
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
            // What is taken can be written again and says the same.
            let again = KeptChannelCodec.encode(read.channel, epoch: read.epoch)
            #expect((try? KeptChannelCodec.decode(again).channel) == read.channel)
        }
    }

    @Test func faultsNameFieldValueAndWhatWasExpected() {
        var bytes = KeptChannelCodec.encode(Self.sample(.open), epoch: 1)
        bytes[3] = 9
        #expect(throws: KeptChannelFault.malformed(field: "phase", value: "9", expected: "1 to 7")) {
            try KeptChannelCodec.decode(bytes)
        }
        bytes[0] = 2
        #expect(throws: KeptChannelFault.unknownVersion(2)) { try KeptChannelCodec.decode(bytes) }
        let fault = KeptChannelFault.malformed(field: "phase", value: "9", expected: "1 to 7")
        #expect(fault.description == "phase is 9: expected 1 to 7")
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
            #expect(throws: KeptChannelFault.self) {
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
            #expect(throws: KeptChannelFault.self) { try KeptChannelKey(Array(text.utf8)) }
        }
    }
}
