import APNSProtocol
import PushModel

/// What `state` says about an activity, a channel or an audience: the slot, then what waits in it (`Update`), then the
/// book of an audience.
///
/// The key is `a/<bundle id>/<activity id>`, `c/<bundle id>/<channel id>` or `o/<bundle id>/<audience id>`. A record
/// that has been read has nothing on the heap, because a restore reads millions.
struct SlotRecord {
    var slot = Slot()
    /// The fields that only a channel has, written before the others; `nil`: the slot is not a channel.
    var channel: Channel?
    /// Offset of the marker of the owner that wrote the record.
    var epoch: Int64 = -1
    /// Whether the writer was giving the partition back, and took and sent nothing after this record. Older
    /// releases read it. A restore by this release reads the header `RecordHeader.released` of a marker instead.
    var isReleased = false
    /// Range of the token in the record's bytes.
    var token = 0..<0
    var routed = RoutedPositions()

    struct Channel {
        /// What the channel stores, as far as APNs has said. If the policy is configured, `unknown` is written.
        var storage: StoragePolicy
        var throttleSteps: UInt8
        var notBeforeWallMillis: Int64
        /// Whether the keeper has said that it keeps the channel for no audience. In records of older releases it is
        /// `false`.
        var isUnkept = false
    }

    /// An upper limit of budget units. No slot ever has this many out.
    static let budgetUnitsMax = 4_096
    private static let heldMax = 3

    /// Writes the first part of the record. The waiting updates (`writeHeld`) and the book follow.
    /// - Parameters:
    ///   - isUnkept: for a channel, whether its keeper has said that the channel is kept for no audience.
    ///   - answers: when the pushes that took units of the slot's budget were answered, oldest first, in milliseconds
    ///     (steady clock).
    ///   - isInFlight: whether another unit is in flight.
    static func write(
        _ slot: borrowing Slot, isStorageConfigured: Bool = false, isUnkept: Bool = false, token: Span<UInt8>,
        routed: RoutedPositions, answers: Span<Int64>, isInFlight: Bool, epoch: Int64, isReleased: Bool,
        topicHashes: [UInt32], now: EngineTime, to writer: inout ByteCursor
    ) {
        switch slot.kind {
        case .activity: StateCodec.writeKind(.activity, to: &writer)
        case .audience: StateCodec.writeKind(.audience, to: &writer)
        case .channel:
            StateCodec.writeKind(.channel, to: &writer)
            let waits = slot.notBeforeMillis == .min ? 0 : max(0, slot.notBeforeMillis - now.steadyMillis)
            Channel(
                storage: isStorageConfigured ? .unknown : slot.storage, throttleSteps: slot.throttleSteps,
                notBeforeWallMillis: now.wallMillis + waits
            ).write(to: &writer)
        }
        writer.signed(epoch)
        writer.byte(slot.life.rawValue)
        var flags: UInt8 = 0
        if slot.frequentUpdates { flags |= Flag.frequentUpdates }
        if slot.tokenStanding == .dead { flags |= Flag.tokenIsDead }
        if slot.environment == .development { flags |= Flag.isDevelopment }
        if slot.awaitsTokenOfStart { flags |= Flag.awaitsTokenOfStart }
        if isUnkept { flags |= Flag.channelIsUnkept }
        if isReleased { flags |= Flag.isReleased }
        if routed.formerOrigin.offset >= 0 { flags |= Flag.hasFormerOrigin }
        writer.byte(flags)
        writer.run(token)
        writer.signed(slot.registeredWallMillis)
        writer.optional(slot.lastAcceptedSeconds == .min ? nil : slot.lastAcceptedSeconds)
        writer.signed(slot.lastStampSeconds)
        writer.signed(slot.lastTouchedWallMillis)
        writer.unsigned(slot.applied.topic < 0 ? 0 : UInt64(topicHashes[Int(slot.applied.topic)]))
        writer.signed(slot.applied.offset)
        routed.write(topicHashes: topicHashes, to: &writer)
        var first = 0
        while first < answers.count, answers[first] + RollingBudget.windowMillis <= now.steadyMillis { first += 1 }
        writer.unsigned(UInt64(answers.count - first + (isInFlight ? 1 : 0)))
        for index in first..<answers.count { writer.signed(now.wallMillis - (now.steadyMillis - answers[index])) }
        // A unit in flight counts as spent now, because an owner that restores this record cannot know the answer.
        if isInFlight { writer.signed(now.wallMillis) }
    }
    /// Writes the updates that wait in the slot, or were on their way.
    @inline(__always) static func writeHeld(
        _ held: (UpdateID, UpdateID, UpdateID), of updates: borrowing UpdateStore, topicHashes: [UInt32],
        now: EngineTime, to writer: inout ByteCursor
    ) {
        writer.unsigned((held.0.isSome ? 1 : 0) + (held.1.isSome ? 1 : 0) + (held.2.isSome ? 1 : 0))
        if held.0.isSome { Update.write(updates[held.0], topicHashes: topicHashes, now: now, to: &writer) }
        if held.1.isSome { Update.write(updates[held.1], topicHashes: topicHashes, now: now, to: &writer) }
        if held.2.isSome { Update.write(updates[held.2], topicHashes: topicHashes, now: now, to: &writer) }
    }
}

extension SlotRecord {
    /// The bits of the record's byte of flags.
    private enum Flag {
        static var frequentUpdates: UInt8 { 1 }
        static var tokenIsDead: UInt8 { 2 }
        static var isDevelopment: UInt8 { 4 }
        static var awaitsTokenOfStart: UInt8 { 8 }
        /// The bit is shared with `awaitsTokenOfStart`, because a channel is never started.
        static var channelIsUnkept: UInt8 { 8 }
        static var isReleased: UInt8 { 16 }
        static var hasFormerOrigin: UInt8 { 32 }
        static var all: UInt8 { 63 }
    }

    /// Reads the slot's fields, after the record's kind.
    /// - Parameter ages: receives the age of each budget unit's answer, oldest first, milliseconds by the wall clock.
    init(
        _ reader: inout StateReader, kind: SlotKind, topicHashes: [UInt32], now: EngineTime, ages: inout [Int64]
    ) throws(StateError) {
        self.slot.kind = kind
        if kind == .channel { self.channel = try Channel(&reader) }
        self.epoch = try reader.signed()
        let life = try reader.byte()
        guard let life = SlotLife(rawValue: life) else { throw .malformed("life \(life)") }
        self.slot.life = life
        let flags = try reader.byte()
        guard flags <= Flag.all else { throw .malformed("flags \(flags)") }
        self.token = try reader.runRange(byteCountMax: StateCodec.tokenByteCountMax)
        self.slot.frequentUpdates = flags & Flag.frequentUpdates != 0
        self.slot.tokenStanding = flags & Flag.tokenIsDead != 0 ? .dead : .usable
        self.slot.environment = flags & Flag.isDevelopment != 0 ? .development : .production
        if kind == .channel {
            self.channel?.isUnkept = flags & Flag.channelIsUnkept != 0
        } else {
            self.slot.awaitsTokenOfStart = flags & Flag.awaitsTokenOfStart != 0
        }
        self.isReleased = flags & Flag.isReleased != 0
        self.slot.registeredWallMillis = try reader.signed()
        self.slot.lastAcceptedSeconds = try reader.optional() ?? .min
        self.slot.lastStampSeconds = try StateCodec.readSeconds(&reader)
        self.slot.lastTouchedWallMillis = try StateCodec.readMillis(&reader)
        let appliedHash = try reader.unsigned()
        let appliedOffset = try reader.signed()
        if let topic = topicHashes.firstIndex(where: { UInt64($0) == appliedHash }) {
            self.slot.applied = AppliedPosition(offset: appliedOffset, topic: UInt16(topic))
        }
        self.routed = try RoutedPositions(
            &reader, hasFormer: flags & Flag.hasFormerOrigin != 0, topicHashes: topicHashes)
        for _ in 0..<(try reader.count(atMost: Self.budgetUnitsMax, "budget units")) {
            ages.append(now.wallMillis - (try StateCodec.readMillis(&reader)))
        }
    }
    /// Reads the updates that wait in the slot, or were on their way.
    static func readHeld(
        _ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime
    ) throws(StateError) -> [Update] {
        var held: [Update] = []
        for _ in 0..<(try reader.count(atMost: Self.heldMax, "updates")) {
            held.append(try Update(&reader, topicHashes: topicHashes, now: now))
        }
        return held
    }
    /// Reads the book, up to the end of the record.
    /// - Returns: the book; `nil`: the slot is not an audience.
    static func readBook(
        _ reader: inout StateReader, kind: SlotKind, topicHashes: [UInt32], now: EngineTime
    ) throws(StateError) -> AudienceOwner? {
        let book = kind == .audience ? try AudienceOwner(&reader, topicHashes: topicHashes, now: now) : nil
        try reader.checkEnd(behind: "the last update")
        return book
    }
}

extension SlotRecord.Channel {
    fileprivate func write(to writer: inout ByteCursor) {
        writer.byte(self.storage.rawValue)
        writer.byte(self.throttleSteps)
        writer.signed(self.notBeforeWallMillis)
    }
    fileprivate init(_ reader: inout StateReader) throws(StateError) {
        let storage = try reader.byte()
        guard let storage = StoragePolicy(rawValue: storage) else { throw .malformed("storage \(storage)") }
        self.init(
            storage: storage, throttleSteps: try reader.byte(), notBeforeWallMillis: try StateCodec.readMillis(&reader))
    }

    fileprivate var described: StateRecordDescription.Channel {
        let storage: String? =
            switch self.storage {
            case .unknown: nil
            case .none: ChannelStoragePolicy.none.rawValue
            case .mostRecent: ChannelStoragePolicy.mostRecent.rawValue
            }
        return .init(
            storage: storage, throttleSteps: Int(self.throttleSteps), notBeforeMillis: self.notBeforeWallMillis)
    }
}

extension RoutedPositions {
    fileprivate func write(topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.signed(self.appliedOffset)
        self.appliedOrigin.writeOrigin(topicHashes: topicHashes, to: &writer)
        if self.formerOrigin.offset >= 0 { self.formerOrigin.writeOrigin(topicHashes: topicHashes, to: &writer) }
    }
    fileprivate init(_ reader: inout StateReader, hasFormer: Bool, topicHashes: [UInt32]) throws(StateError) {
        self.appliedOffset = try reader.signed()
        self.appliedOrigin = try SourcePosition(originFrom: &reader, topicHashes: topicHashes)
        if hasFormer { self.formerOrigin = try SourcePosition(originFrom: &reader, topicHashes: topicHashes) }
    }
}

/// Writes and reads the first position of a record that was forwarded.
extension SourcePosition {
    fileprivate func writeOrigin(topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.unsigned(self.offset < 0 ? 0 : UInt64(topicHashes[Int(self.topic)]))
        writer.signed(Int64(self.partition))
        writer.signed(self.offset)
    }
    /// Reads a position. If the topic is not configured, the position is `RoutedPositions.nowhere`.
    fileprivate init(originFrom reader: inout StateReader, topicHashes: [UInt32]) throws(StateError) {
        let hash = try reader.unsigned()
        let partition = try reader.signed()
        let offset = try reader.signed()
        guard let topic = topicHashes.firstIndex(where: { UInt64($0) == hash }),
            let partition = Int32(exactly: partition)
        else {
            self = RoutedPositions.nowhere
            return
        }
        self.init(topic: UInt16(topic), partition: partition, offset: offset)
    }
}

// MARK: - Whole records

extension SlotRecord {
    /// A whole record, for readers that have no tables of slots.
    struct Whole {
        var slot = Slot()
        var channel: Channel?
        var epoch: Int64 = -1
        var isReleased = false
        var token: [UInt8] = []
        var routed = RoutedPositions()
        var budget = RollingBudget()
        var updates: [Update] = []
        var book: AudienceOwner?

        init() {}
        /// Reads the whole record, after its kind.
        init(
            _ reader: inout StateReader, kind: SlotKind, topicHashes: [UInt32], now: EngineTime
        ) throws(StateError) {
            var ages: [Int64] = []
            let record = try SlotRecord(&reader, kind: kind, topicHashes: topicHashes, now: now, ages: &ages)
            (self.slot, self.channel, self.epoch) = (record.slot, record.channel, record.epoch)
            (self.isReleased, self.token, self.routed) = (record.isReleased, reader.bytes(record.token), record.routed)
            for age in ages { self.budget.restore(ageMillis: age, nowMillis: now.steadyMillis) }
            self.updates = try SlotRecord.readHeld(&reader, topicHashes: topicHashes, now: now)
            self.book = try SlotRecord.readBook(&reader, kind: kind, topicHashes: topicHashes, now: now)
        }

        /// Describes the record for tools.
        /// - Parameter topics: names of the topics that positions can name.
        func described(topics: [String]) -> StateRecordDescription.Slot {
            func position(_ origin: SourcePosition) -> StateRecordDescription.Position? {
                origin.offset < 0 ? nil : .init(origin, topics: topics)
            }
            let applied = self.slot.applied
            return .init(
                epoch: self.epoch, life: "\(self.slot.life)", environment: "\(self.slot.environment)",
                frequentUpdates: self.slot.frequentUpdates,
                tokenHash: self.token.isEmpty ? nil : StateRecordReader.hash(self.token),
                tokenIsDead: self.slot.tokenStanding == .dead,
                registeredMillis: self.slot.registeredWallMillis > 0 ? self.slot.registeredWallMillis : nil,
                lastAcceptedSeconds: self.slot.lastAcceptedSeconds <= 0 ? nil : self.slot.lastAcceptedSeconds,
                lastStampSeconds: self.slot.lastStampSeconds > 0 ? self.slot.lastStampSeconds : nil,
                lastTouchedMillis: self.slot.lastTouchedWallMillis,
                applied: applied.offset < 0
                    ? nil : .init(topicIndex: Int(applied.topic), topics: topics, offset: applied.offset),
                appliedRoutedOffset: self.routed.appliedOffset < 0 ? nil : self.routed.appliedOffset,
                appliedRoutedOrigin: position(self.routed.appliedOrigin),
                formerRoutedOrigin: position(self.routed.formerOrigin),
                budgetUnitsOut: self.budget.answers.count,
                budgetReturnsMillis: self.budget.answers.first.map { $0 + RollingBudget.windowMillis },
                channel: self.channel?.described, isAudience: self.slot.kind == .audience, book: self.book?.described,
                updates: self.updates.map { $0.described(topics: topics) })
        }
    }
}
