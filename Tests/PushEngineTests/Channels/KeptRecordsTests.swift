import APNSProtocol
@testable import ChannelKeeping
import PushModel
import Testing

@testable import PushEngine

/// Tests that a worker that keeps no channels reads, keeps and shows the records of workers that do.
@Suite struct KeptRecordsTests {
    private static let key = "k/com.example.pizza/p/7"

    static func channel(_ phase: KeptChannel.Phase = .ended) -> KeptChannel {
        var channel = KeptChannel(
            owner: KeptOwner(audience: Array("match".utf8), life: 1_700_000_000), policy: .none, phase: phase,
            sinceMillis: 1_700_000_050_000)
        channel.id = Array("dGVzdA==".utf8)
        channel.openedMillis = 1_700_000_000_500
        channel.isAnnounced = true
        if phase == .ended {
            channel.endedMillis = 1_700_000_050_000
            channel.beaconsSent = 2
            channel.end = Array("the end".utf8)
        }
        return channel
    }
    static func value(_ channel: KeptChannel, epoch: Int64) -> [UInt8] {
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        bytes.append(using: &scratch) {
            KeptChannelCodec.write(channel, epoch: epoch, to: &$0)
        }
        return bytes
    }
    private static func foreign(
        _ key: String = Self.key, value: [UInt8] = [], isNull: Bool = false, epoch: Int64? = nil
    ) -> WrittenRecord {
        WrittenRecord(
            topic: .state, partition: 0, key: Array(key.utf8), hasKey: true, value: value, isNull: isNull,
            headers: epoch.map { [RecordHeader.epoch.text: "\($0)"] } ?? [:], timestampMillis: 0, acknowledgement: 0)
    }
    private static func newest(_ h: EngineHarness) throws -> WrittenRecord {
        try #require(h.stateLog.last { $0.keyText == Self.key })
    }
    private static func epoch(_ h: EngineHarness) throws -> Int64 { try #require(h.markerOffset) }

    /// A harness that has taken over a partition with a kept channel's record.
    private static func harness() throws -> EngineHarness {
        let h = EngineHarness()
        h.writeState(Self.foreign(value: Self.value(Self.channel(), epoch: try Self.epoch(h))))
        h.crash()
        #expect(h.restoreResults.contains(.restored))
        #expect(
            !h.restoreResults.contains {
                if case .malformed = $0 { true } else { false }
            })
        return h
    }

    @Test func itStaysAsItIs() throws {
        let h = try Self.harness()
        let count = h.stateLog.count { $0.keyText == Self.key }
        h.register()
        h.update(1, priority: 10)
        #expect(h.deliver() != nil)
        h.advance(4_000_000)
        #expect(h.stateLog.count { $0.keyText == Self.key } == count, "nobody has to write it again")
    }

    /// A worker wrote over the record after it had lost the partition. The owner writes the record again, because
    /// compaction would remove the original.
    @Test(arguments: [true, false])
    func whatAStrangerWroteOverItIsMended(isNull: Bool) throws {
        let h = try Self.harness()
        h.writeState(Self.foreign(value: isNull ? [] : Self.value(Self.channel(.open), epoch: 0), isNull: isNull))
        h.register()
        h.advance(1_000)
        let gap = try #require(h.takeStateGap())
        for offset in gap.offsets {
            let record = h.stateLog[Int(offset)]
            let (key, value) = (record.key, record.value)
            #expect(
                h.engine.repair(partition: 0, key: key.span, value: value.span, offset: offset, now: h.now)
                    == .overwritten)
        }
        h.engine.stateGapRepaired(partition: 0, now: h.now)
        h.advance(1_000)
        #expect(try Self.newest(h).value == Self.value(Self.channel(), epoch: try Self.epoch(h)))
    }

    /// A former owner's delayed record replaces the newer one in `state`. The next takeover finds this and writes the
    /// newer record again.
    @Test func whatAFormerOwnerWroteTooLateIsMended() throws {
        let h = try Self.harness()
        h.register()
        h.advance(1_000)
        h.writeState(Self.foreign(value: Self.value(Self.channel(.open), epoch: 0)))
        h.crash()
        #expect(try Self.newest(h).value == Self.value(Self.channel(), epoch: try Self.epoch(h)))
    }

    /// A dead worker's first marker comes into `state` late, just before a record of the owner. The next owner still
    /// accepts the owner's record.
    @Test func aFirstMarkerThatComesLateHidesNoRecord() throws {
        let h = try Self.harness()
        let marker = MarkerRecord(epoch: -1, takenOverWallMillis: 1, partitionCount: 8, clusterID: [])
        var (bytes, scratch): ([UInt8], [UInt8]) = ([], [])
        bytes.append(using: &scratch) { marker.write(to: &$0) }
        h.writeState(Self.foreign("m", value: bytes))
        let value = Self.value(Self.channel(.open), epoch: try Self.epoch(h))
        h.writeState(Self.foreign(value: value))
        let count = h.stateLog.count { $0.keyText == Self.key }
        h.crash()
        #expect(try Self.newest(h).value == value)
        #expect(h.stateLog.count { $0.keyText == Self.key } == count, "nobody has to write it again")
    }

    @Test func aTombstoneTakesIt() throws {
        let h = try Self.harness()
        h.writeState(Self.foreign(isNull: true, epoch: try Self.epoch(h)))
        h.crash()
        h.writeState(Self.foreign(value: Self.value(Self.channel(.open), epoch: 0)))
        h.crash()
        #expect(try Self.newest(h).isNull, "what comes from before the tombstone is not believed")
    }

    @Test(arguments: ["k/com.example.pizza/p", "a/com.example.pizza/order", "k/com.example.pizza/x/7"])
    func underAnotherKeyItIsNone(key: String) throws {
        let h = EngineHarness()
        h.writeState(Self.foreign(key, value: Self.value(Self.channel(), epoch: try Self.epoch(h))))
        h.crash()
        #expect(
            h.restoreResults.contains {
                if case .malformed = $0 { true } else { false }
            })
    }

    @Test func itIsShown() {
        let reader = StateRecordReader(inputTopics: [])
        let description = reader.read(
            key: Array(Self.key.utf8), value: Self.value(Self.channel(), epoch: 5), nowMillis: 0)
        #expect(description.app == "com.example.pizza" && description.channel == "dGVzdA==")
        #expect(description.audience == "match" && description.id == "dGVzdA==")
        guard case .keptChannel(let kept) = description.content else {
            Issue.record("\(description)")
            return
        }
        #expect(
            kept
                == .init(
                    epoch: 5, environment: "production", number: 7, phase: "ended", sinceMillis: 1_700_000_050_000,
                    isAnnounced: true, storage: "none", id: "dGVzdA==", openedMillis: 1_700_000_000_500,
                    audience: "match", audienceLife: 1_700_000_000, endedMillis: 1_700_000_050_000, beaconsSent: 2,
                    endByteCount: 7))
        let tombstone = reader.read(key: Array(Self.key.utf8), value: nil, tombstoneEpoch: 9, nowMillis: 0)
        #expect(tombstone.content == .tombstone(epoch: 9) && tombstone.app == "com.example.pizza")
    }
}
