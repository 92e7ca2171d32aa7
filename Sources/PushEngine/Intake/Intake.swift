import APNSProtocol
import PushModel

/// The record that is being processed: decoded, checked by the rules that need no slot, and turned into what a slot
/// keeps of it.
///
/// The state of `Intake` describes one record, and the next record overwrites it. Only first occurrences that wait to
/// be reported stay longer.
struct Intake: ~Copyable {
    private(set) var event = DecodedEvent()
    /// The value of the record's header `traceparent`, empty without one. For a traced event its `tracestate` follows:
    /// see `TraceContext.headerByteCount(ofCarried:isTraced:)`.
    private(set) var traceparent: [UInt8] = []
    private(set) var record = InputRecord(
        topic: 0, partition: 0, offset: 0, timestampMillis: 0, hasKey: false, hasValue: false, origin: nil)
    private(set) var partition = PartitionIndex.none
    private(set) var log = LogID.none
    /// For each topic, the first record that a producer's client put on the wrong partition.
    var placement = FirstOfTopics<Misplacement>()
    /// For each topic, the first record whose own time is impossible.
    var untimed = FirstOfTopics<UntimedRecord>()
    /// The record's time, milliseconds since 1970. For an impossible time, the time of the worker's clock.
    private(set) var writtenMillis: Int64 = 0
    /// Whether the app treats a stale date as an expiry.
    private var staleDateExpires = false
    /// Whether the record's own time is possible.
    private(set) var isTimed = true
    /// What all copies of the last forwarded event have in common; `nil`: the first position of that event can be
    /// compared with positions in `state`.
    private var copy: ForwardedCopy?
    /// The bundle id of each app in UTF-8.
    private var bundleIDs: [[UInt8]]
    private let addressOnly = AddressOnly()

    init(_ configuration: borrowing EngineConfiguration) {
        self.bundleIDs = configuration.apps.map { Array($0.bundleID.utf8) }
    }

    /// Follows a new configuration: from now on events of its apps are taken.
    mutating func follow(_ configuration: borrowing EngineConfiguration) {
        self.bundleIDs = configuration.apps.map { Array($0.bundleID.utf8) }
    }

    /// An app's bundle id in UTF-8.
    func bundleID(app: UInt16) -> [UInt8] { self.bundleIDs[Int(app)] }
    /// The name of a kind that this release does not know. For a record of such a kind, `traceparent` holds the header
    /// with the kind.
    var kindName: String { String(decoding: self.traceparent.prefix(64), as: UTF8.self) }
    /// The event's first position, which is its identity.
    var source: SourcePosition {
        self.record.origin
            ?? SourcePosition(topic: self.record.topic, partition: self.record.partition, offset: self.record.offset)
    }

    // MARK: Reading

    /// Replaces a record's impossible time with the time of the worker's clock. Reports the record if it is the first
    /// event of its topic with an impossible time. Records between workers have the writing worker's time, and say
    /// nothing about a producer.
    @inline(never) private mutating func countUntimed(now: EngineTime) {
        self.writtenMillis = now.wallMillis
        guard self.record.kind == .event else { return }
        let source = self.source
        let record = UntimedRecord(
            topic: source.topic, partition: source.partition, offset: source.offset,
            timestampMillis: self.record.timestampMillis)
        self.untimed.saw(record, in: source.topic)
    }

    /// Begins the next record, of a log that the ledger follows.
    @inline(__always) mutating func begin(
        _ record: InputRecord, partition: PartitionIndex, log: LogID, traceparent: Span<UInt8>, now: EngineTime
    ) {
        self.record = record
        self.writtenMillis = record.timestampMillis
        self.isTimed = RecordTime.isBelievable(millis: record.timestampMillis, nowMillis: now.wallMillis)
        if !self.isTimed { self.countUntimed(now: now) }
        self.partition = partition
        self.log = log
        if !self.traceparent.isEmpty { self.traceparent.removeAll(keepingCapacity: true) }
        self.traceparent.append(copying: traceparent)
    }

    /// Checks the key of an activity that this shard does not know. The key of a known activity was checked with its
    /// first event.
    @inline(__always) func checkNewKey(_ key: Span<UInt8>) throws(EventRejection) {
        guard self.record.hasKey else {
            throw EventRules.missingKey
        }
        try EventRules.checkKey(key)
    }

    /// The partition to which the record must be forwarded; `nil`: the record is processed where it is. A record is
    /// misplaced if its producer's client hashes differently, or if its topic has got more partitions. It is forwarded
    /// only once.
    func properPartition(key: Span<UInt8>, in memory: borrowing ShardMemory) -> Int32? {
        guard case .check = memory.configuration.settings.placement,
            self.record.topic != memory.configuration.routedTopicIndex
        else {
            return nil
        }
        let partition = Murmur2.partition(key: key, count: memory.configuration.partitionCount)
        return partition == self.record.partition ? nil : partition
    }

    /// Remembers a record that is forwarded to its proper partition, if it is the first of its topic.
    mutating func countMisplaced(properPartition: Int32) {
        let misplacement = Misplacement(
            topic: self.record.topic, partition: self.record.partition, offset: self.record.offset,
            properPartition: properPartition)
        self.placement.saw(misplacement, in: self.record.topic)
    }

    /// Decodes the value and applies every rule that can be judged without the slot (contract: What an event is).
    /// - Returns: the app, as an index into `EngineConfiguration.apps`.
    @inline(__always) mutating func admit(
        key: Span<UInt8>, value: Span<UInt8>, in memory: borrowing ShardMemory, now: EngineTime
    ) throws(EventRejection) -> UInt16 {
        guard self.record.hasValue else {
            throw EventRejection(field: "value", reason: "is null: expected one JSON object")
        }
        if let origin = self.record.origin { self.identifyCopy(of: origin, key: key, value: value, in: memory) }
        try EventDecoder.decode(
            value, framing: memory.configuration.settings.eventFraming, into: &self.event)
        let app = try self.app(in: memory)
        self.staleDateExpires = memory.configuration.apps[Int(app)].staleDateExpires
        // Most events name their activity by the key alone, are small, and are not ahead of the clock. They skip most
        // of the rules below.
        if !self.namesNoOther {
            try EventRules.checkTarget(self.event, key: key)
            if memory.configuration.apps[Int(app)].audienceChannel == .none { try EventRules.refuseOpen(self.event) }
        }
        try self.checkEnvironment(of: app, in: memory)
        let eventSeconds = self.timestampSeconds(now: now)
        if eventSeconds > now.wallSeconds || self.event.dismissalDateSeconds != nil
            || EventRules.mayBeTooLarge(valueByteCount: value.count)
        {
            try EventRules.checkContent(
                self.event, value: value, eventSeconds: eventSeconds, nowSeconds: now.wallSeconds)
        }
        return app
    }

    /// Whether the key alone says what the event is meant for.
    private var namesNoOther: Bool {
        self.event.target == .activity && self.event.activityInText.isEmpty && self.event.audienceInText.isEmpty
            && self.event.kind != .start
    }

    private func app(in memory: borrowing ShardMemory) throws(EventRejection) -> UInt16 {
        let name = self.event.appInText
        if name.isEmpty {
            guard memory.configuration.apps.count == 1 else {
                throw EventRules.missingApp(configuredCount: memory.configuration.apps.count)
            }
            return 0
        }
        let given = self.event.text.span.extracting(name.range)
        for index in self.bundleIDs.indices {
            let bundleID = self.bundleIDs[index]
            if given.holdsSameBytes(as: bundleID.span) { return UInt16(index) }
        }
        throw EventRules.unknownApp(given, configured: memory.configuration.apps.map(\.bundleID))
    }

    /// Checks that the app has a route to the environment: a device token belongs to one environment.
    @inline(__always) private func checkEnvironment(
        of app: UInt16, in memory: borrowing ShardMemory
    ) throws(EventRejection) {
        guard EventRules.choosesEnvironment(self.event) else { return }
        let kind: RequestKind = self.event.target == .channel ? .broadcast : .device
        guard memory.configuration.apps[Int(app)].route(self.event.environment, kind) == nil else { return }
        let routed = PushEnvironment.allCases.filter { memory.configuration.apps[Int(app)].route($0, kind) != nil }
        throw EventRules.unknownEnvironment(self.event.environment, configured: routed)
    }

    /// The environment that the event names for its channel. If the event names none, this is `held`, unless the app
    /// can broadcast only in the other environment.
    /// - Parameter held: the environment of the channel's slot; production for a new slot.
    func channelEnvironment(
        of app: UInt16, held: PushEnvironment, in memory: borrowing ShardMemory
    ) -> PushEnvironment {
        if self.event.isEnvironmentGiven { return self.event.environment }
        func hasRoute(_ environment: PushEnvironment) -> Bool {
            memory.configuration.apps[Int(app)].route(environment, .broadcast) != nil
        }
        let other: PushEnvironment = held == .production ? .development : .production
        return hasRoute(held) || !hasRoute(other) ? held : other
    }

    // MARK: Contents of the event

    /// The event's own time. For an event without one, the record's time, but no later than the worker's clock.
    @inline(__always) func timestampSeconds(now: EngineTime) -> Int64 {
        self.event.timestampSeconds ?? min(self.writtenMillis, now.wallMillis) / 1_000
    }

    /// The earliest time at which the record may have been written, milliseconds since 1970. If the record's own time
    /// is impossible, this is `Int64.min`.
    @inline(__always) var writtenAtTheEarliestMillis: Int64 { self.isTimed ? self.writtenMillis : .min }

    /// The time that decides which event is newest; among equal times, the arrival decides. An event without a known
    /// time comes after the events of its slot that have arrived, and before later ones. The worker's clock is not
    /// used. It would put the event after events that still wait in the log, and later still after each crash.
    @inline(__always) func orderSeconds(of slot: SlotID, in memory: borrowing ShardMemory, now: EngineTime) -> Int64 {
        if self.isTimed || self.event.timestampSeconds != nil { return self.timestampSeconds(now: now) }
        return memory.newestSeconds(of: slot)
    }

    /// When the content expires if it is still unsent, seconds since 1970; `Int64.max`: never.
    var contentExpiresSeconds: Int64 {
        switch self.event.kind {
        // A phone shows stale content, and marks it as stale. Some publishers want stale content dropped instead.
        case .update where self.staleDateExpires: self.event.expiresSeconds ?? self.event.staleDateSeconds ?? .max
        case .update: self.event.expiresSeconds ?? .max
        case .end: self.event.expiresSeconds ?? .max
        // This is the expiry for the audience's update members. The start's own expiry is in `StartOrder`.
        case .start where self.event.target == .audience: self.event.expiresSeconds ?? .max
        // The start's own expiry is in `StartPart`.
        case .start, .register, .unregister, .open: .max
        }
    }

    /// The token in the event, empty without one.
    var deviceToken: Span<UInt8> {
        @_lifetime(borrow self)
        get { self.event.text.span.extracting(self.event.tokenInText.range) }
    }

    // MARK: Replays

    /// Whether the record was in the log when the partition was assigned.
    @inline(__always) func liesBelowReplayEnd(in memory: borrowing ShardMemory) -> Bool {
        self.record.offset < memory.partitions[self.partition].replayEnds[Int(self.record.topic)]
    }

    /// Whether a former owner may have taken the event, and pushed it. This is so for every record below the log's end
    /// at assignment. A forwarded event behind that end may be a second copy, so the time of its original record
    /// decides.
    @inline(__always) func mayBeReplay(in memory: borrowing ShardMemory) -> Bool {
        if self.liesBelowReplayEnd(in: memory) { return true }
        return self.record.origin != nil
            && self.writtenAtTheEarliestMillis < memory.partitions[self.partition].assignedWallMillis
    }

    /// Whether `state` already covers the event (contract: At least once). Only a forwarded record, or one below the
    /// end of the log at assignment, can be such a replay.
    @inline(__always) func isApplied(to slot: SlotID, in memory: borrowing ShardMemory) -> Bool {
        guard self.liesBelowReplayEnd(in: memory) || self.record.origin != nil else { return false }
        if let origin = self.record.origin {
            let positions = memory.slots.routedPositions(of: slot)
            return positions.covers(origin) || self.record.offset <= positions.appliedOffset
                || self.isTakenCopy(in: memory)
        }
        let applied = memory.slots[slot].applied
        return applied.isOf(topic: self.record.topic) && self.record.offset <= applied.offset
    }

    /// Whether the origin of a forwarded record can be compared with positions of this log. While positions are void,
    /// records from before the takeover may be from another cluster. Their origin is then a position in that cluster.
    @inline(never) func isOriginOfThisLog(in memory: borrowing ShardMemory) -> Bool {
        memory.partitions[self.partition].voids.cause == nil || !self.liesBelowReplayEnd(in: memory)
    }

    /// Remembers what copies of this forwarded event have in common, if positions are void. While they are void, the
    /// first position alone does not say whether the event was taken.
    @inline(never) private mutating func identifyCopy(
        of origin: SourcePosition, key: Span<UInt8>, value: Span<UInt8>, in memory: borrowing ShardMemory
    ) {
        guard memory.partitions[self.partition].voids.cause != nil else { return self.copy = nil }
        self.copy = ForwardedCopy(
            origin: origin, timestampMillis: self.record.timestampMillis, key: key, value: value)
    }
    /// Whether this owner has taken another copy of this forwarded event.
    @inline(never) func isTakenCopy(in memory: borrowing ShardMemory) -> Bool {
        self.copy.map { memory.partitions[self.partition].voids.hasTaken($0) } ?? false
    }
    /// Remembers that this owner has taken a forwarded event whose first position cannot be compared.
    @inline(never) func markCopyTaken(in memory: inout ShardMemory) {
        if let copy = self.copy { memory.partitions[self.partition].took(copy) }
    }

    /// Remembers in the slot that it has taken this record.
    @inline(__always) func markApplied(to slot: SlotID, in memory: inout ShardMemory) {
        guard self.record.topic == memory.configuration.routedTopicIndex else {
            let position = AppliedPosition(offset: self.record.offset, topic: self.record.topic)
            return memory.slots.setApplied(position, of: slot)
        }
        var positions = memory.slots.routedPositions(of: slot)
        positions.appliedOffset = self.record.offset
        if let origin = self.record.origin {
            if self.isOriginOfThisLog(in: memory) { positions.add(origin) } else { self.markCopyTaken(in: &memory) }
        }
        memory.slots.setRoutedPositions(positions, of: slot)
    }
}
