@testable import PushEngine
import PushModel

/// Random slots and updates, with extreme values, for the tests of the state codec.
struct StateRandom {
    private var random: SplitMix64

    init(seed: UInt64) { self.random = SplitMix64(seed: seed) }

    /// The bytes that `body` writes, as the engine would write them.
    static func written(_ body: (inout ByteCursor) -> Void) -> [UInt8] {
        var bytes: [UInt8] = []
        var scratch: [UInt8] = [9, 9]
        bytes.append(using: &scratch, body)
        return bytes
    }

    mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self.random) }
    mutating func bool() -> Bool { Bool.random(using: &self.random) }

    /// Any number. Extreme values are drawn more often than others.
    mutating func extreme() -> Int64 {
        switch self.int(0...5) {
        case 0: [0, 1, -1, .max, .min, .max - 1][self.int(0...5)]
        case 1: Int64.random(in: -200...200, using: &self.random)
        default: Int64.random(in: .min ... .max, using: &self.random)
        }
    }

    /// Seconds since 1970, as far in either direction as a record may hold.
    mutating func seconds() -> Int64 {
        let most = StateCodec.timeSecondsMax
        return self.int(0...4) == 0
            ? [most, -most, 0][self.int(0...2)] : Int64.random(in: -most...most, using: &self.random)
    }

    mutating func bytes(_ counts: ClosedRange<Int>) -> [UInt8] {
        (0..<self.int(counts)).map { _ in UInt8.random(in: 0...255, using: &self.random) }
    }

    mutating func slot(now: EngineTime) -> SlotRecord.Whole {
        var read = SlotRecord.Whole()
        var slot = Slot()
        read.token = self.bytes(0...100)
        slot.tokenByteCount = UInt16(read.token.count)
        slot.life = SlotLife(rawValue: UInt8(self.int(0...5)))!
        slot.environment = self.bool() ? .production : .development
        slot.frequentUpdates = self.bool()
        slot.tokenStanding = self.bool() ? .dead : .usable
        slot.awaitsTokenOfStart = self.bool()
        read.isReleased = self.bool()
        slot.registeredWallMillis = self.extreme()
        slot.lastAcceptedSeconds = self.extreme()
        slot.lastStampSeconds = self.seconds()
        slot.lastTouchedWallMillis = self.seconds()
        if self.bool() { slot.applied = AppliedPosition(offset: self.extreme(), topic: UInt16(self.int(0...1))) }
        read.routed.appliedOffset = self.extreme()
        if self.bool() {
            read.routed.appliedOrigin = SourcePosition(
                topic: UInt16(self.int(0...1)), partition: Int32(truncatingIfNeeded: self.extreme()),
                offset: Int64(self.int(0...1_000)))
        }
        if self.bool() {
            read.routed.formerOrigin = SourcePosition(topic: 1, partition: 7, offset: Int64(self.int(0...1_000)))
        }
        var at = now.steadyMillis - 2 * RollingBudget.windowMillis
        for _ in 0..<self.int(0...20) {
            at = min(now.steadyMillis, at + Int64(self.int(0...600_000)))
            read.budget.take()
            read.budget.startReturn(nowMillis: at)
        }
        if self.bool() { read.budget.take() }
        read.slot = slot
        return read
    }

    mutating func update(now: EngineTime) -> Update {
        var update = Update()
        update.priority = self.bool() ? .high : .low
        update.containsReplay = self.bool()
        update.stampSeconds = self.bool() ? self.seconds() : nil
        update.firstUnsentMillis = now.steadyMillis - Int64(self.int(0...100_000))
        update.mergedCount = UInt32(self.int(0...Int(StateCodec.mergedCountMax)))
        for _ in 0..<self.int(0...Update.underMax) { update.under.append(self.layer()) }
        update.top = self.layer()
        if self.int(0...3) == 0 {
            let blob = self.bytes(0...200)
            update.start = [
                StartPart(
                    token: self.bytes(1...100), environment: self.bool() ? .production : .development, blob: blob,
                    content: self.content(within: blob.count), expiresSeconds: self.seconds())
            ]
            update.isAnnounced = self.bool()
        }
        return update
    }

    private mutating func layer() -> Layer {
        var layer = Layer()
        layer.blob = self.bytes(0...300)
        layer.source = SourcePosition(
            topic: UInt16(self.int(0...1)), partition: Int32(truncatingIfNeeded: self.extreme()), offset: self.extreme()
        )
        layer.timestampSeconds = self.seconds()
        layer.recordMillis = self.extreme()
        layer.expiresSeconds = self.bool() ? .max : self.seconds()
        layer.expirationHeaderSeconds = self.bool() ? self.extreme() : nil
        layer.isEnd = self.int(0...4) == 0
        layer.isStart = self.int(0...4) == 0
        layer.alertIsInherited = self.bool()
        layer.contentIsInherited = self.bool()
        layer.scoreIsInherited = self.bool()
        layer.alertSeconds = self.extreme()
        layer.contentSeconds = self.extreme()
        layer.content = self.content(within: layer.blob.count)
        layer.alert = self.range(within: layer.blob.count)
        layer.eventID = self.range(within: layer.blob.count)
        layer.traceparent = self.range(within: layer.blob.count)
        return layer
    }

    private mutating func content(within count: Int) -> PayloadContent {
        var content = PayloadContent()
        content.contentState = self.range(within: count)
        content.attributesType = self.range(within: count)
        content.attributes = self.range(within: count)
        content.relevanceScore = self.range(within: count)
        content.inputPushChannel = self.range(within: count)
        content.inputPushToken = self.bool()
        content.staleDateSeconds = self.bool() ? self.extreme() : nil
        content.dismissalDateSeconds = self.bool() ? self.extreme() : nil
        return content
    }

    private mutating func range(within count: Int) -> ByteRange {
        let start = self.int(0...count)
        return ByteRange(start: start, count: self.int(0...(count - start)))
    }
}
