import PushModel

/// The value of a record of the `state` topic, version 1. Integers LEB128 (signed: zigzag), byte runs behind their count.
///
/// ```
/// 1   version
/// 1   kind: 1 activity, 2 ownership marker, 3 channel, 4 audience; 5 to 8 and 12: see `AudienceCodec`; 9, 10: see `StartCodec`; 13: see
///                           `KeptChannelCodec`
/// channel, before what an activity has:
///     storage               0 not known, or configured, 1 none, 2 the most recent message
///     throttle steps        quarters of a doubling of its distance
///     not before            wall milliseconds
/// activity:
///     epoch                 offset of the owner's marker
///     life, flags           flags: 1 frequent-updates, 2 token dead, 4 development, 8 the start's token has not come; of a channel,
///                           which is never started: its keeper has said that it keeps it for no audience; 16 written as the partition was given back: its owner sent nothing more
///     token                 raw bytes
///     registered            wall milliseconds
///     last accepted         optional, event seconds
///     last stamp            seconds
///     last touched          wall milliseconds
///     applied               topic hash, offset; 0, -1: none
///     applied routed        offset; then topic hash, partition, offset of its origin
///     budget                count, then answer times, wall milliseconds
///     updates               count 0...3, then each: see `write(_:update:)`
/// marker:
///     epoch                 offset of the owner's first marker; -1: of this record
///     taken over            wall milliseconds
///     partition count       of the topics
///     cluster               id; empty: not known
///     void before           only where there is one: an offset in `state`; records below it know positions of other logs
/// ```
/// The marker that lies there before an owner's first push has a header beside it, `RecordHeader.takeovers`; releases that do not know it pass
/// over it.
///
/// Positions name topics by a hash of their name, so that a changed order of `topics.events` does not move them.
enum StateCodec {
    static let version: UInt8 = 1
    static let markerKey: [UInt8] = [UInt8(ascii: "m")]
    /// No run in a record is longer: a payload is at most 4,096 bytes. Releases before this one could let an update grow with every attempt, up
    /// to what Kafka takes.
    static let runByteCountMax = 1_048_576
    static let tokenByteCountMax = 1_024
    /// No time in a record lies further from 1970, either way: in seconds, so that milliseconds and what is added to them stay in range.
    static let timeSecondsMax: Int64 = 1 << 50
    /// More budget units than a slot may ever have out.
    static let budgetUnitsMax: UInt64 = 4_096
    /// More events than one push can have merged; three such counts can be added.
    static let mergedCountMax: UInt64 = 1 << 30

    enum Kind: UInt8 {
        case activity = 1, marker = 2, channel = 3
        /// Of an audience's owner: as an activity, with the audience's book at the end.
        case audience = 4
        /// Of a partition that has members (`AudienceCodec`).
        case versions = 5, progress = 6, member = 7, voided = 8
        /// Of a partition: an operator has stopped the pushes of an audience or an app there.
        case paused = 12
        /// The same of start members (`StartCodec`).
        case startMember = 9, startProgress = 10
        /// A channel that is kept for an audience (`KeptChannelCodec`).
        case keptChannel = 13
    }

    /// FNV-1a, 32 bits; 0 is kept for "none".
    static func topicHash(_ name: String) -> UInt32 {
        var hash: UInt32 = 0x811c_9dc5
        for byte in name.utf8 { hash = (hash ^ UInt32(byte)) &* 0x0100_0193 }
        return hash == 0 ? 1 : hash
    }

    /// `a/<bundle id>/<activity id>`, `c/<bundle id>/<channel id>`, `o/<bundle id>/<audience id>`.
    static func appendKey(
        kind: SlotKind = .activity, bundleID: String, id: Span<UInt8>, to bytes: inout [UInt8]
    ) {
        bytes.append(utf8: Self.keyPrefix(of: kind))
        bytes.append(contentsOf: bundleID.utf8)
        bytes.append(UInt8(ascii: "/"))
        bytes.append(copying: id)
    }

    /// What the key of a record about such a slot begins with.
    static func keyPrefix(of kind: SlotKind) -> StaticString {
        switch kind {
        case .activity: "a/"
        case .channel: "c/"
        case .audience: "o/"
        }
    }

    // MARK: Writing

    /// An upper bound of a slot's record without its updates: 30 numbers and bytes, the token, and the budget's units.
    static func byteCountMax(_ slot: borrowing Slot, budgetUnits: Int) -> Int {
        (30 + budgetUnits + 1) * ByteCursor.leb128ByteCountMax + Int(slot.tokenByteCount)
    }

    /// The same of one update.
    static func byteCountMax(_ update: borrowing Update) -> Int {
        var count = 48 * ByteCursor.leb128ByteCountMax
        for layer in update.under { count += Self.byteCountMax(layer) }
        count += Self.byteCountMax(update.top)
        if let start = update.start.first {
            count += start.token.count + start.blob.count
        }
        return count
    }

    static func byteCountMax(_ layer: borrowing Layer) -> Int {
        48 * ByteCursor.leb128ByteCountMax + layer.blob.count
    }

    /// Everything of a slot but its updates, which follow.
    /// - Parameters:
    ///   - answers: of its budget's units, oldest first, steady milliseconds.
    ///   - isInFlight: another unit of it is.
    ///   - isUnkept: of a channel: its keeper has said that it keeps it for no audience.
    static func write(
        _ slot: borrowing Slot, isStorageConfigured: Bool = false, isUnkept: Bool = false, token: Span<UInt8>,
        routed: RoutedPositions,
        answers: Span<Int64>, isInFlight: Bool,
        epoch: Int64, isReleased: Bool, topicHashes: [UInt32], now: EngineTime, to writer: inout ByteCursor
    ) {
        writer.byte(Self.version)
        switch slot.kind {
        case .activity: writer.byte(Kind.activity.rawValue)
        case .audience: writer.byte(Kind.audience.rawValue)
        case .channel:
            writer.byte(Kind.channel.rawValue)
            writer.byte((isStorageConfigured ? StoragePolicy.unknown : slot.storage).rawValue)
            writer.byte(slot.throttleSteps)
            let waits = slot.notBeforeMillis == .min ? 0 : max(0, slot.notBeforeMillis - now.steadyMillis)
            writer.signed(now.wallMillis + waits)
        }
        writer.signed(epoch)
        writer.byte(slot.life.rawValue)
        writer.byte(
            (slot.frequentUpdates ? 1 : 0) | (slot.tokenStanding == .dead ? 2 : 0)
                | (slot.environment == .development ? 4 : 0) | (slot.awaitsTokenOfStart || isUnkept ? 8 : 0)
                | (isReleased ? 16 : 0) | (routed.formerOrigin.offset >= 0 ? 32 : 0))
        writer.run(token)
        writer.signed(slot.registeredWallMillis)
        writer.optional(slot.lastAcceptedSeconds == .min ? nil : slot.lastAcceptedSeconds)
        writer.signed(slot.lastStampSeconds)
        writer.signed(slot.lastTouchedWallMillis)
        writer.unsigned(slot.applied.topic < 0 ? 0 : UInt64(topicHashes[Int(slot.applied.topic)]))
        writer.signed(slot.applied.offset)
        writer.signed(routed.appliedOffset)
        Self.write(routed.appliedOrigin, topicHashes: topicHashes, to: &writer)
        if routed.formerOrigin.offset >= 0 { Self.write(routed.formerOrigin, topicHashes: topicHashes, to: &writer) }
        var first = 0
        while first < answers.count, answers[first] + RollingBudget.windowMillis <= now.steadyMillis { first += 1 }
        writer.unsigned(UInt64(answers.count - first + (isInFlight ? 1 : 0)))
        for index in first..<answers.count { writer.signed(now.wallMillis - (now.steadyMillis - answers[index])) }
        // A unit in flight counts as spent now: who restores this cannot know the answer.
        if isInFlight { writer.signed(now.wallMillis) }
    }

    static func write(_ update: borrowing Update, topicHashes: [UInt32], now: EngineTime, to writer: inout ByteCursor) {
        writer.byte(
            (update.priority == .high ? 1 : 0) | (update.containsReplay ? 2 : 0) | (update.isStart ? 4 : 0)
                | (update.isAnnounced ? 8 : 0) | (update.priority == .lowest ? 16 : 0)
                | (update.withdrawsAlert ? 32 : 0))
        writer.optional(update.stampSeconds)
        writer.signed(now.wallMillis - (now.steadyMillis - update.firstUnsentMillis))
        writer.unsigned(UInt64(update.mergedCount))
        if let start = update.start.first {
            writer.run(start.token.span)
            writer.byte(start.environment.rawValue)
            writer.signed(start.expiresSeconds)
            writer.run(start.blob.span)
            Self.write(start.content, to: &writer)
        }
        writer.unsigned(UInt64(update.under.count + 1))
        for layer in update.under { Self.write(layer, topicHashes: topicHashes, to: &writer) }
        Self.write(update.top, topicHashes: topicHashes, to: &writer)
    }

    static func write(_ layer: borrowing Layer, topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.unsigned(UInt64(topicHashes[Int(layer.source.topic)]))
        writer.signed(Int64(layer.source.partition))
        writer.signed(layer.source.offset)
        writer.signed(layer.timestampSeconds)
        writer.signed(layer.stampFloorSeconds)
        writer.signed(layer.recordMillis)
        writer.signed(layer.expiresSeconds)
        writer.optional(layer.expirationHeaderSeconds)
        writer.byte(
            (layer.isEnd ? 1 : 0) | (layer.isStart ? 2 : 0) | (layer.alertIsInherited ? 4 : 0)
                | (layer.contentIsInherited ? 8 : 0)
                | (layer.scoreIsInherited ? 16 : 0) | (layer.mayBeSent ? 32 : 0) | (layer.staleDateIsInherited ? 64 : 0)
        )
        writer.signed(layer.alertSeconds)
        writer.signed(layer.contentSeconds)
        Self.write(layer.content, to: &writer)
        Self.write(layer.alert, to: &writer)
        Self.write(layer.eventID, to: &writer)
        Self.write(layer.keptTraceparent, to: &writer)
        writer.run(layer.blob.span)
    }

    private static func write(_ content: PayloadContent, to writer: inout ByteCursor) {
        Self.write(content.contentState, to: &writer)
        Self.write(content.attributesType, to: &writer)
        Self.write(content.attributes, to: &writer)
        Self.write(content.relevanceScore, to: &writer)
        Self.write(content.inputPushChannel, to: &writer)
        writer.byte(content.inputPushToken ? 1 : 0)
        writer.optional(content.staleDateSeconds)
        writer.optional(content.dismissalDateSeconds)
    }

    private static func write(_ range: ByteRange, to writer: inout ByteCursor) {
        writer.unsigned(UInt64(range.start))
        writer.unsigned(UInt64(range.count))
    }

    // MARK: Reading

    /// Reads version and kind; what follows is read by the kind's own function.
    static func readKind(_ reader: inout StateReader) throws(StateError) -> Kind {
        let version = try reader.byte()
        guard version == Self.version else { throw .unknownVersion(version) }
        let kind = try reader.byte()
        guard let kind = Kind(rawValue: kind) else { throw .malformed("a record of kind \(kind)") }
        return kind
    }

    /// An ownership marker.
    struct Marker: Equatable {
        var epoch: Int64
        var takenOverWallMillis: Int64
        var partitionCount: Int32
        var clusterID: [UInt8]
        /// What lies in `state` below this offset knows positions of other logs; -1: nothing does.
        var voidBefore: Int64 = -1
    }

    static let clusterIDByteCountMax = 255

    static func byteCountMax(_ marker: borrowing Marker) -> Int {
        8 * ByteCursor.leb128ByteCountMax + marker.clusterID.count
    }

    static func write(_ marker: borrowing Marker, to writer: inout ByteCursor) {
        writer.byte(Self.version)
        writer.byte(Kind.marker.rawValue)
        writer.signed(marker.epoch)
        writer.signed(marker.takenOverWallMillis)
        writer.signed(Int64(marker.partitionCount))
        writer.run(marker.clusterID.span)
        // Releases that do not know it halt over it, so it stands only where it says something.
        if marker.voidBefore >= 0 { writer.signed(marker.voidBefore) }
    }

    /// What follows version and kind.
    static func readMarker(_ reader: inout StateReader) throws(StateError) -> Marker {
        let epoch = try reader.signed()
        let takenOver = try reader.signed()
        let count = try reader.signed()
        guard let partitionCount = Int32(exactly: count) else { throw .malformed("\(count) partitions") }
        let clusterID = try reader.run(byteCountMax: Self.clusterIDByteCountMax)
        let voidBefore = reader.isAtEnd ? -1 : try reader.signed()
        guard reader.isAtEnd else { throw .malformed("bytes behind the marker") }
        return Marker(
            epoch: epoch, takenOverWallMillis: takenOver, partitionCount: partitionCount, clusterID: clusterID,
            voidBefore: voidBefore)
    }

    /// What a slot's record says, before the engine's tables know it: for a reader that has none.
    struct ReadSlot {
        var slot = Slot()
        var channel: ChannelPart?
        var epoch: Int64 = -1
        var isReleased = false
        var token: [UInt8] = []
        var routed = RoutedPositions()
        var budget = RollingBudget()
    }

    static func readSlot(
        _ reader: inout StateReader, kind: SlotKind, topicHashes: [UInt32], now: EngineTime
    ) throws(StateError) -> ReadSlot {
        var ages: [Int64] = []
        let parts = try Self.readParts(&reader, kind: kind, topicHashes: topicHashes, now: now, ages: &ages)
        var read = ReadSlot(
            slot: parts.slot, channel: parts.channel, epoch: parts.epoch, isReleased: parts.isReleased,
            token: reader.bytes(parts.token),
            routed: parts.routed)
        for age in ages { read.budget.restore(ageMillis: age, nowMillis: now.steadyMillis) }
        return read
    }

    /// What a channel's record has before the rest.
    struct ChannelPart {
        var storage: StoragePolicy
        var throttleSteps: UInt8
        var notBeforeWallMillis: Int64
        /// Its keeper has said that it keeps it for no audience. Records from before it was asked do not say so.
        var isUnkept = false
    }

    private static func readChannel(_ reader: inout StateReader) throws(StateError) -> ChannelPart {
        let storage = try reader.byte()
        guard let storage = StoragePolicy(rawValue: storage) else { throw .malformed("storage \(storage)") }
        let steps = try reader.byte()
        return ChannelPart(
            storage: storage, throttleSteps: steps, notBeforeWallMillis: try Self.readMillis(&reader))
    }

    /// The same without anything on the heap: a restore reads millions.
    struct SlotParts {
        var slot = Slot()
        /// Of a channel.
        var channel: ChannelPart?
        var epoch: Int64 = -1
        /// Its writer was giving the partition back: it took nothing more, and sent nothing more.
        var isReleased = false
        /// Where it lies in the record's bytes.
        var token = 0..<0
        var routed = RoutedPositions()
    }

    /// - Parameter ages: gets how long ago each unit of its budget was answered, oldest first, milliseconds by the wall clock.
    static func readParts(
        _ reader: inout StateReader, kind: SlotKind, topicHashes: [UInt32], now: EngineTime, ages: inout [Int64]
    ) throws(StateError) -> SlotParts {
        var read = SlotParts()
        if kind == .channel {
            read.channel = try Self.readChannel(&reader)
            read.slot.kind = .channel
        } else {
            read.slot.kind = kind
        }
        read.epoch = try reader.signed()
        let life = try reader.byte()
        guard let life = SlotLife(rawValue: life) else { throw .malformed("life \(life)") }
        read.slot.life = life
        let flags = try reader.byte()
        guard flags < 64 else { throw .malformed("flags \(flags)") }
        read.token = try reader.runRange(byteCountMax: Self.tokenByteCountMax)
        read.slot.frequentUpdates = flags & 1 != 0
        read.slot.tokenStanding = flags & 2 != 0 ? .dead : .usable
        read.slot.environment = flags & 4 != 0 ? .development : .production
        if kind == .channel {
            read.channel?.isUnkept = flags & 8 != 0
        } else {
            read.slot.awaitsTokenOfStart = flags & 8 != 0
        }
        read.isReleased = flags & 16 != 0
        read.slot.registeredWallMillis = try reader.signed()
        read.slot.lastAcceptedSeconds = try reader.optional() ?? .min
        read.slot.lastStampSeconds = try Self.readSeconds(&reader)
        read.slot.lastTouchedWallMillis = try Self.readMillis(&reader)
        let appliedHash = try reader.unsigned()
        let appliedOffset = try reader.signed()
        if let topic = topicHashes.firstIndex(where: { UInt64($0) == appliedHash }) {
            read.slot.applied = AppliedPosition(offset: appliedOffset, topic: UInt16(topic))
        }
        read.routed.appliedOffset = try reader.signed()
        read.routed.appliedOrigin = try Self.readOrigin(&reader, topicHashes: topicHashes)
        if flags & 32 != 0 { read.routed.formerOrigin = try Self.readOrigin(&reader, topicHashes: topicHashes) }
        let spent = try reader.unsigned()
        guard spent <= Self.budgetUnitsMax else { throw .malformed("\(spent) budget units") }
        for _ in 0..<spent {
            ages.append(now.wallMillis - (try Self.readMillis(&reader)))
        }
        return read
    }

    static func readUpdate(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError)
        -> Update
    {
        var update = Update()
        let flags = try reader.byte()
        guard flags < 64, flags & 17 != 17 else { throw .malformed("update flags \(flags)") }
        update.priority = flags & 1 != 0 ? .high : flags & 16 != 0 ? .lowest : .low
        // Whoever wrote this may have sent it since.
        update.containsReplay = true
        update.isAnnounced = flags & 8 != 0
        update.withdrawsAlert = flags & 32 != 0
        update.stampSeconds = try reader.optional()
        if let stamp = update.stampSeconds { try Self.checkSeconds(stamp) }
        _ = try reader.signed()
        update.firstUnsentMillis = now.steadyMillis
        let merged = try reader.unsigned()
        guard merged <= Self.mergedCountMax else { throw .malformed("\(merged) merged events") }
        update.mergedCount = UInt32(merged)
        if flags & 4 != 0 {
            let token = try reader.run(byteCountMax: Self.tokenByteCountMax)
            let environment = try reader.byte()
            guard let environment = PushEnvironment(rawValue: environment) else {
                throw .malformed("environment \(environment)")
            }
            let expires = try Self.readSeconds(&reader)
            let blob = try reader.run(byteCountMax: Self.runByteCountMax)
            let content = try Self.readContent(&reader, within: blob.count)
            update.start = [
                StartPart(token: token, environment: environment, blob: blob, content: content, expiresSeconds: expires)
            ]
        }
        let count = try reader.unsigned()
        guard count >= 1, count <= UInt64(Update.underMax + 1) else { throw .malformed("\(count) layers") }
        for index in 0..<count {
            let layer = try Self.readLayer(&reader, topicHashes: topicHashes, now: now)
            if index == count - 1 { update.top = layer } else { update.under.append(layer) }
        }
        // A stamp was given: it was about to leave, or had left.
        if update.stampSeconds != nil { update.noteAttemptUnanswered() }
        return update
    }

    static func readLayer(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime)
        throws(StateError) -> Layer
    {
        var layer = Layer()
        let topicHash = try reader.unsigned()
        let topic = topicHashes.firstIndex { UInt64($0) == topicHash } ?? 0
        guard let partition = Int32(exactly: try reader.signed()) else { throw .malformed("a partition number") }
        layer.source = SourcePosition(topic: UInt16(topic), partition: partition, offset: try reader.signed())
        layer.timestampSeconds = try Self.readSeconds(&reader)
        layer.stampFloorSeconds = try Self.readSeconds(&reader)
        layer.recordMillis = try reader.signed()
        layer.takenMillis = now.steadyMillis
        layer.expiresSeconds = try reader.signed()
        if layer.expiresSeconds != .max { try Self.checkSeconds(layer.expiresSeconds) }
        layer.expirationHeaderSeconds = try reader.optional()
        let flags = try reader.byte()
        guard flags < 128 else { throw .malformed("layer flags \(flags)") }
        layer.isEnd = flags & 1 != 0
        layer.isStart = flags & 2 != 0
        layer.alertIsInherited = flags & 4 != 0
        layer.contentIsInherited = flags & 8 != 0
        layer.scoreIsInherited = flags & 16 != 0
        layer.mayBeSent = flags & 32 != 0
        layer.staleDateIsInherited = flags & 64 != 0
        layer.alertSeconds = try reader.signed()
        layer.contentSeconds = try reader.signed()
        layer.isWritten = true
        // The ranges come before the bytes they lie in.
        let content = try Self.readContent(&reader, within: Self.runByteCountMax)
        let alert = try Self.readRange(&reader, within: Self.runByteCountMax)
        let eventID = try Self.readRange(&reader, within: Self.runByteCountMax)
        let traceparent = try Self.readRange(&reader, within: Self.runByteCountMax)
        layer.blob = try reader.run(byteCountMax: Self.runByteCountMax)
        for range in [
            content.contentState, content.attributesType, content.attributes, content.relevanceScore,
            content.inputPushChannel, alert,
            eventID, traceparent,
        ] where range.range.upperBound > layer.blob.count {
            throw .malformed("a range past its \(layer.blob.count) bytes")
        }
        layer.content = content
        layer.alert = alert
        layer.eventID = eventID
        layer.traceparent = traceparent
        return layer
    }

    static func readSeconds(_ reader: inout StateReader) throws(StateError) -> Int64 {
        let seconds = try reader.signed()
        try Self.checkSeconds(seconds)
        return seconds
    }

    private static func checkSeconds(_ seconds: Int64) throws(StateError) {
        guard seconds.magnitude <= UInt64(Self.timeSecondsMax) else { throw .malformed("a time of \(seconds) s") }
    }

    static func readMillis(_ reader: inout StateReader) throws(StateError) -> Int64 {
        let millis = try reader.signed()
        guard millis.magnitude / 1_000 <= UInt64(Self.timeSecondsMax) else {
            throw .malformed("a time of \(millis) ms")
        }
        return millis
    }

    private static func readContent(_ reader: inout StateReader, within count: Int) throws(StateError) -> PayloadContent
    {
        var content = PayloadContent()
        content.contentState = try Self.readRange(&reader, within: count)
        content.attributesType = try Self.readRange(&reader, within: count)
        content.attributes = try Self.readRange(&reader, within: count)
        content.relevanceScore = try Self.readRange(&reader, within: count)
        content.inputPushChannel = try Self.readRange(&reader, within: count)
        content.inputPushToken = try reader.byte() != 0
        content.staleDateSeconds = try reader.optional()
        content.dismissalDateSeconds = try reader.optional()
        return content
    }

    private static func readRange(_ reader: inout StateReader, within limit: Int) throws(StateError) -> ByteRange {
        let start = try reader.unsigned()
        let count = try reader.unsigned()
        guard start <= UInt64(limit), count <= UInt64(limit) - start else {
            throw .malformed("a range past \(limit) bytes")
        }
        return ByteRange(start: Int(start), count: Int(count))
    }
}
