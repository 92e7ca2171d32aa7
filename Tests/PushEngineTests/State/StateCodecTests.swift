@testable import PushEngine
import PushModel
import Testing

/// Tests the value of a `state` record: what is written can be read again, and nothing read from outside traps.
@Suite struct StateCodecTests {
    private static let hashes = ["liveactivity.events", "liveactivity.routed"].map { StateCodec.topicHash($0) }
    private static let now = EngineTime(steadyMillis: 10_000_000, wallMillis: 1_700_000_000_000)
    private static let id = Array("activity".utf8)

    /// A slot's record as the engine writes it.
    private static func write(_ slot: SlotRecord.Whole, _ updates: [Update], epoch: Int64) -> [UInt8] {
        // The engine's own size limit applies here: a larger record would stop the process.
        return StateRandom.written { writer in
            SlotRecord.write(
                slot.slot, token: slot.token.span, routed: slot.routed, answers: slot.budget.answers.span,
                isInFlight: slot.budget.inFlight, epoch: epoch, isReleased: slot.isReleased,
                topicHashes: Self.hashes, now: Self.now, to: &writer)
            writer.unsigned(UInt64(updates.count))
            for update in updates { Update.write(update, topicHashes: Self.hashes, now: Self.now, to: &writer) }
        }
    }

    private static func read(
        _ bytes: [UInt8], topicHashes: [UInt32] = Self.hashes
    ) throws(StateError) -> SlotRecord.Whole {
        var reader = StateReader(bytes.span)
        guard try StateCodec.readKind(&reader) == .activity else { throw .malformed("a marker") }
        return try SlotRecord.Whole(&reader, kind: .activity, topicHashes: topicHashes, now: Self.now)
    }

    @Test(arguments: 1...80 as ClosedRange<UInt64>)
    func whatIsWrittenComesBack(seed: UInt64) throws {
        var random = StateRandom(seed: seed)
        let slot = random.slot(now: Self.now)
        let updates = (0..<random.int(0...3)).map { _ in random.update(now: Self.now) }
        let epoch = random.extreme()
        let back = try Self.read(Self.write(slot, updates, epoch: epoch))
        #expect(back.epoch == epoch)
        Self.expectEqual(back, slot)
        #expect(back.updates.count == updates.count)
        for (read, written) in zip(back.updates, updates) { Self.expectEqual(read, written) }
    }

    /// A marker that declares nothing void has the same bytes as in former releases.
    @Test func aMarkerSaysWhatIsVoid() throws {
        var marker = MarkerRecord(
            epoch: 7, takenOverWallMillis: 1_700_000_000_000, partitionCount: 64, clusterID: Array("ours".utf8))
        var lengths: [Int] = []
        for voidBefore in [-1, 0, 9, .max] as [Int64] {
            marker.voidBefore = voidBefore
            let bytes = StateRandom.written { writer in
                marker.write(to: &writer)
            }
            var reader = StateReader(bytes.span)
            let kind = try StateCodec.readKind(&reader)
            let back = try MarkerRecord(&reader)
            #expect(kind == .marker && back == marker)
            lengths.append(bytes.count)
        }
        #expect(lengths == [lengths[0], lengths[0] + 1, lengths[0] + 1, lengths[0] + 10])
    }

    private static func expectEqual(_ read: SlotRecord.Whole, _ written: SlotRecord.Whole) {
        Self.expectEqual(read.slot, written.slot)
        #expect(read.token == written.token)
        #expect(read.isReleased == written.isReleased)
        #expect(read.routed == written.routed)
        // Writer and reader have the same clocks. Units that have not returned keep their time to the millisecond, and
        // a unit in flight counts as answered now.
        let over = Self.now.steadyMillis - RollingBudget.windowMillis
        let units =
            written.budget.answers.filter { $0 > over } + (written.budget.inFlight ? [Self.now.steadyMillis] : [])
        #expect(read.budget.answers == units)
    }

    private static func expectEqual(_ read: Slot, _ written: Slot) {
        #expect(read.life == written.life)
        #expect(read.environment == written.environment)
        #expect(read.frequentUpdates == written.frequentUpdates)
        #expect(read.tokenStanding == written.tokenStanding)
        #expect(read.awaitsTokenOfStart == written.awaitsTokenOfStart)
        #expect(read.registeredWallMillis == written.registeredWallMillis)
        #expect(read.lastAcceptedSeconds == written.lastAcceptedSeconds)
        #expect(read.lastStampSeconds == written.lastStampSeconds)
        #expect(read.lastTouchedWallMillis == written.lastTouchedWallMillis)
        #expect(read.applied == written.applied)
    }

    private static func expectEqual(_ read: Update, _ written: Update) {
        #expect(read.priority == written.priority)
        #expect(read.stampSeconds == written.stampSeconds)
        #expect(read.mergedCount == written.mergedCount)
        #expect(read.containsReplay, "whoever wrote it may have sent it since")
        #expect(read.start.count == written.start.count)
        #expect(read.isAnnounced == written.isAnnounced)
        if let start = read.start.first, let other = written.start.first {
            #expect(start.token == other.token)
            #expect(start.environment == other.environment)
            #expect(start.blob == other.blob)
            #expect(start.content == other.content)
            #expect(start.expiresSeconds == other.expiresSeconds)
        }
        #expect(read.under.count == written.under.count)
        for (layer, other) in zip(read.under + [read.top], written.under + [written.top]) {
            Self.expectEqual(layer, other)
        }
    }

    private static func expectEqual(_ read: Layer, _ written: Layer) {
        #expect(read.source == written.source)
        #expect(read.timestampSeconds == written.timestampSeconds)
        #expect(read.recordMillis == written.recordMillis)
        #expect(read.expiresSeconds == written.expiresSeconds)
        #expect(read.expirationHeaderSeconds == written.expirationHeaderSeconds)
        #expect(read.isEnd == written.isEnd && read.isStart == written.isStart)
        #expect(read.alertIsInherited == written.alertIsInherited)
        #expect(read.contentIsInherited == written.contentIsInherited)
        #expect(read.scoreIsInherited == written.scoreIsInherited)
        #expect(read.alertSeconds == written.alertSeconds && read.contentSeconds == written.contentSeconds)
        #expect(read.content == written.content)
        #expect(
            read.alert == written.alert && read.eventID == written.eventID && read.traceparent == written.traceparent)
        #expect(read.blob == written.blob)
        #expect(read.isWritten)
    }

    // MARK: Damaged

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func everyTruncationIsAnError(seed: UInt64) {
        var random = StateRandom(seed: seed)
        let slot = random.slot(now: Self.now)
        let bytes = Self.write(slot, [random.update(now: Self.now), random.update(now: Self.now)], epoch: 5)
        for count in 0..<bytes.count {
            do throws(StateError) {
                _ = try Self.read(Array(bytes[0..<count]))
                Issue.record("\(count) of \(bytes.count) bytes were taken, seed \(seed)")
            } catch {
                if error != .truncated { Issue.record("\(count) bytes: \(error), seed \(seed)") }
            }
        }
    }

    /// Bytes of a record are changed, inserted and removed at random. The engine reads or refuses each form, and keeps
    /// working.
    @Test(arguments: 1...25 as ClosedRange<UInt64>)
    func everyMutationIsAnErrorOrAValue(seed: UInt64) {
        var random = StateRandom(seed: seed)
        for _ in 0..<40 {
            let slot = random.slot(now: Self.now)
            let updates = (0..<random.int(0...3)).map { _ in random.update(now: Self.now) }
            var bytes = Self.write(slot, updates, epoch: 0)
            for _ in 0..<random.int(1...4) {
                let at = random.int(0...(bytes.count - 1))
                switch random.int(0...3) {
                case 0: bytes[at] = UInt8(random.int(0...255))
                case 1: bytes[at] ^= 1 << UInt8(random.int(0...7))
                case 2: bytes.insert(UInt8(random.int(0...255)), at: at)
                default: bytes.remove(at: at)
                }
                if bytes.isEmpty { break }
            }
            RestoredEngine.run(on: bytes, id: Self.id, random: &random)
        }
    }

    @Test func anUnknownVersionIsNamed() {
        for version in [UInt8(0), 2, 255] {
            #expect(throws: StateError.unknownVersion(version)) { try Self.read([version, 1, 0]) }
        }
        #expect(throws: StateError.malformed("a record of kind 11")) { try Self.read([1, 11]) }
    }

    @Test func topicHashesAreStableAndNeverZero() {
        #expect(StateCodec.topicHash("liveactivity.events") == StateCodec.topicHash("liveactivity.events"))
        #expect(StateCodec.topicHash("a") == 0xe40c_292c, "FNV-1a's published value")
        #expect(Self.hashes[0] != Self.hashes[1])
        #expect(StateCodec.topicHash("") != 0)
    }

    /// Positions name topics, so another order of the input topics does not change them. A topic that is no longer
    /// read makes them void.
    @Test func positionsFollowTheTopicsName() throws {
        var slot = SlotRecord.Whole()
        slot.slot.applied = AppliedPosition(offset: 77, topic: 0)
        slot.routed.appliedOrigin = SourcePosition(topic: 0, partition: 3, offset: 9)
        slot.routed.formerOrigin = SourcePosition(topic: 0, partition: 1, offset: 70)
        let written = Self.write(slot, [], epoch: 0)
        let swapped = try Self.read(written, topicHashes: Self.hashes.reversed())
        #expect(swapped.slot.applied == AppliedPosition(offset: 77, topic: 1))
        #expect(swapped.routed.appliedOrigin == SourcePosition(topic: 1, partition: 3, offset: 9))
        #expect(swapped.routed.formerOrigin == SourcePosition(topic: 1, partition: 1, offset: 70))
        let gone = try Self.read(written, topicHashes: [Self.hashes[1]])
        #expect(gone.slot.applied == AppliedPosition())
        #expect(gone.routed.appliedOrigin.offset == -1 && gone.routed.formerOrigin.offset == -1)
    }

    @Test func theKeyNamesKindAppAndId() {
        var key: [UInt8] = []
        StateCodec.appendKey(bundleID: "com.example.pizza", id: Self.id.span, to: &key)
        #expect(String(decoding: key, as: UTF8.self) == "a/com.example.pizza/activity")
    }
}
