import APNSProtocol
import ChannelKeeping
import PushModel

@testable import PushEngine

/// Records of `state` for the golden files. Each flag and each optional part is present in some and absent from
/// others.
enum GoldenState {
    typealias Case = (name: String, bytes: [UInt8])

    static let cases: [Case] = [
        Self.markers, Self.slots, Self.updates, Self.layers, Self.channelSlots, Self.keptChannels, GoldenCrowds.cases,
        Self.others,
    ].flatMap { $0 }

    // MARK: Slots

    /// A slot as a restore reads it, changed by `change`.
    static func slot(_ change: (inout SlotRecord.Whole) -> Void = { _ in }) -> SlotRecord.Whole {
        var read = SlotRecord.Whole()
        read.epoch = 41
        read.token = [0xa0, 0xb1, 0xc2]
        read.slot.registeredWallMillis = 1_699_999_000_001
        read.slot.lastStampSeconds = 1_699_999_990
        read.slot.lastTouchedWallMillis = 1_699_999_995_002
        change(&read)
        return read
    }
    private static let markers: [Case] = [
        (
            "marker.first",
            Self.marker(
                MarkerRecord(
                    epoch: -1, takenOverWallMillis: 1_700_000_000_123, partitionCount: 24, clusterID: []))
        ),
        (
            "marker.later",
            Self.marker(
                MarkerRecord(
                    epoch: 77, takenOverWallMillis: 1_700_000_000_456, partitionCount: 8,
                    clusterID: Array("cluster-1".utf8)))
        ),
        (
            "marker.void-before",
            Self.marker(
                MarkerRecord(
                    epoch: 78, takenOverWallMillis: 1_700_000_000_789, partitionCount: 8,
                    clusterID: Array("cluster-2".utf8), voidBefore: 70))
        ),
    ]
    private static func marker(_ marker: MarkerRecord) -> [UInt8] {
        GoldenReading.written { marker.write(to: &$0) }
    }
    private static let slots: [Case] = [
        ("activity.plain", GoldenReading.slot(Self.slot())),
        ("activity.without-token", GoldenReading.slot(Self.slot { $0.token = [] })),
        ("activity.frequent", GoldenReading.slot(Self.slot { $0.slot.frequentUpdates = true })),
        ("activity.token-dead", GoldenReading.slot(Self.slot { $0.slot.tokenStanding = .dead })),
        ("activity.token-doubted", GoldenReading.slot(Self.slot { $0.slot.tokenStanding = .doubted })),
        ("activity.development", GoldenReading.slot(Self.slot { $0.slot.environment = .development })),
        ("activity.awaits-token", GoldenReading.slot(Self.slot { $0.slot.awaitsTokenOfStart = true })),
        ("activity.released", GoldenReading.slot(Self.slot { $0.isReleased = true })),
        ("activity.alive", GoldenReading.slot(Self.slot { $0.slot.life = .alive })),
        ("activity.starting", GoldenReading.slot(Self.slot { $0.slot.life = .starting })),
        ("activity.started", GoldenReading.slot(Self.slot { $0.slot.life = .started })),
        ("activity.ending", GoldenReading.slot(Self.slot { $0.slot.life = .ending })),
        ("activity.ended", GoldenReading.slot(Self.slot { $0.slot.life = .ended })),
        ("activity.accepted", GoldenReading.slot(Self.slot { $0.slot.lastAcceptedSeconds = 1_699_999_985 })),
        (
            "activity.applied",
            GoldenReading.slot(Self.slot { $0.slot.applied = AppliedPosition(offset: 12_345, topic: 0) })
        ),
        (
            "activity.routed",
            GoldenReading.slot(
                Self.slot {
                    $0.routed.appliedOffset = 55
                    $0.routed.appliedOrigin = SourcePosition(topic: 0, partition: 6, offset: 54)
                })
        ),
        (
            "activity.routed-from-two",
            GoldenReading.slot(
                Self.slot {
                    $0.routed.appliedOffset = 55
                    $0.routed.appliedOrigin = SourcePosition(topic: 0, partition: 6, offset: 54)
                    $0.routed.formerOrigin = SourcePosition(topic: 1, partition: 7, offset: 990)
                })
        ),
        ("activity.budget", GoldenReading.slot(Self.slot { Self.spend(&$0.budget, agesMillis: [3_000_000, 9_000]) })),
        (
            "activity.budget-over",
            GoldenReading.slot(Self.slot { Self.spend(&$0.budget, agesMillis: [3_600_000, 3_599_999]) })
        ),
        ("activity.budget-in-flight", GoldenReading.slot(Self.slot { $0.budget.take() })),
        (
            "activity.all",
            GoldenReading.slot(
                Self.slot {
                    $0.isReleased = true
                    $0.slot.life = .ending
                    $0.slot.frequentUpdates = true
                    $0.slot.tokenStanding = .dead
                    $0.slot.environment = .development
                    $0.slot.awaitsTokenOfStart = true
                    $0.slot.lastAcceptedSeconds = 1_699_999_985
                    $0.slot.applied = AppliedPosition(offset: 12_345, topic: 1)
                    $0.routed.appliedOffset = 55
                    $0.routed.appliedOrigin = SourcePosition(topic: 1, partition: 6, offset: 54)
                    Self.spend(&$0.budget, agesMillis: [3_000_000, 9_000])
                    $0.budget.take()
                }, [GoldenParts.update(1), GoldenParts.update(2), GoldenParts.update(3)])
        ),
    ]
    private static func spend(_ budget: inout RollingBudget, agesMillis: [Int64]) {
        for age in agesMillis {
            budget.take()
            budget.startReturn(nowMillis: GoldenReading.now.steadyMillis - age)
        }
    }

    // MARK: What waits

    private static let held: [(name: String, update: Update)] = [
        ("plain", GoldenParts.update()), ("high", GoldenParts.update { $0.priority = .high }),
        ("lowest", GoldenParts.update { $0.priority = .lowest }),
        ("replay", GoldenParts.update { $0.containsReplay = true }),
        ("stamped", GoldenParts.update { $0.stampSeconds = 1_699_999_992 }),
        ("withdraws-alert", GoldenParts.update { $0.withdrawsAlert = true }),
        ("start", GoldenParts.update { $0.start = [GoldenParts.start()] }),
        (
            "start-announced",
            GoldenParts.update {
                $0.start = [GoldenParts.start(.development)]
                $0.isAnnounced = true
            }
        ),
        (
            "under",
            GoldenParts.update {
                $0.under = [GoldenParts.layer(5), GoldenParts.layer(6, full: true)]
                $0.top = GoldenParts.layer(7, full: true)
                $0.stampSeconds = 1_699_999_993
            }
        ),
    ]
    private static let updates: [Case] = Self.held.map { name, update -> Case in
        ("activity.update-\(name)", GoldenReading.slot(Self.slot(), [update]))
    }

    private static let tops: [(name: String, layer: Layer)] = [
        ("end", GoldenParts.layer { $0.isEnd = true }), ("start", GoldenParts.layer { $0.isStart = true }),
        ("alert-inherited", GoldenParts.layer { $0.alertIsInherited = true }),
        ("content-inherited", GoldenParts.layer { $0.contentIsInherited = true }),
        ("score-inherited", GoldenParts.layer { $0.scoreIsInherited = true }),
        ("may-be-sent", GoldenParts.layer { $0.mayBeSent = true }),
        ("stale-date-inherited", GoldenParts.layer { $0.staleDateIsInherited = true }),
        ("expires", GoldenParts.layer { $0.expiresSeconds = 1_700_000_100 }),
        ("expiration", GoldenParts.layer { $0.expirationHeaderSeconds = 0 }),
        ("all", GoldenParts.layer(8, full: true)),
    ]
    private static let layers: [Case] = Self.tops.map { name, layer -> Case in
        ("activity.layer-\(name)", GoldenReading.slot(Self.slot(), [GoldenParts.update { $0.top = layer }]))
    }

    // MARK: Channels

    private static func channel(
        _ storage: StoragePolicy, steps: UInt8 = 0, waitMillis: Int64 = 0, isUnkept: Bool = false
    ) -> SlotRecord.Whole {
        Self.slot {
            $0.slot.kind = .channel
            $0.token = []
            $0.channel = SlotRecord.Channel(
                storage: storage, throttleSteps: steps,
                notBeforeWallMillis: GoldenReading.now.wallMillis + waitMillis, isUnkept: isUnkept)
        }
    }
    private static let channelSlots: [Case] = [
        ("channel.unknown", GoldenReading.slot(Self.channel(.unknown))),
        ("channel.none", GoldenReading.slot(Self.channel(.none))),
        ("channel.most-recent", GoldenReading.slot(Self.channel(.mostRecent))),
        ("channel.configured", GoldenReading.slot(Self.channel(.mostRecent), isStorageConfigured: true)),
        ("channel.unkept", GoldenReading.slot(Self.channel(.none, isUnkept: true))),
        (
            "channel.throttled",
            GoldenReading.slot(Self.channel(.none, steps: 9, waitMillis: 31_000), [GoldenParts.update(4)])
        ),
        ("channel.waited", GoldenReading.slot(Self.channel(.none, waitMillis: -5_000))),
    ]
    private static func kept(
        _ phase: KeptChannel.Phase, owner: Bool = true, _ change: (inout KeptChannel) -> Void = { _ in }
    ) -> [UInt8] {
        var channel = KeptChannel(
            owner: owner ? KeptOwner(audience: Array("match-7".utf8), life: 1_699_990_000) : nil, policy: .none,
            phase: phase, sinceMillis: 1_699_999_500_001)
        switch phase {
        case .wanted, .asked: break
        case .open, .ended, .deleting, .deleted, .possiblyOurs:
            channel.id = Array("cHJvZA==".utf8)
            channel.openedMillis = 1_699_999_400_002
        }
        if phase == .ended { channel.endedMillis = 1_699_999_600_003 }
        change(&channel)
        let stated = channel
        return GoldenReading.written {
            KeptChannelCodec.write(stated, epoch: 43, to: &$0)
        }
    }
    private static let keptChannels: [Case] = [
        ("kept.wanted", Self.kept(.wanted)), ("kept.keeps-message", Self.kept(.wanted) { $0.policy = .mostRecent }),
        ("kept.asked", Self.kept(.asked)),
        ("kept.asked-with-strangers", Self.kept(.asked, owner: false) { $0.strangers = [3, 0x0102_0304_0506_0708] }),
        ("kept.open", Self.kept(.open)), ("kept.announced", Self.kept(.open) { $0.isAnnounced = true }),
        ("kept.warm", Self.kept(.open, owner: false)), ("kept.ended", Self.kept(.ended)),
        (
            "kept.ended-with-beacons",
            Self.kept(.ended) {
                $0.beaconsSent = 4
                $0.end = Array(#"{"n":9}"#.utf8)
                $0.isAnnounced = true
                $0.policy = .mostRecent
            }
        ),
        ("kept.deleting", Self.kept(.deleting)),
        ("kept.deleted", Self.kept(.deleted) { $0.endedMillis = 1_699_999_600_004 }),
        ("kept.possibly-ours", Self.kept(.possiblyOurs, owner: false)),
    ]

    // MARK: Crowds

    private static let others: [Case] = [
        ("voided.plain", Self.voided(epoch: 44, life: 1_699_990_000)),
        ("paused.plain", Self.paused(epoch: 45, sinceMillis: 1_699_999_300_001)),
    ]

    static func voided(epoch: Int64, life: Int64) -> [UInt8] {
        let bench = JournalBench()
        bench.memory.partitions[0] = PartitionState(number: 0, generation: 0, epoch: epoch)
        var audiences = FanOut(seed: 1)
        audiences.crowds.addPartition(0)
        let crowd = audiences.crowds.make(app: 0, id: Array("match-7".utf8), reference: 5, partition: 0)
        audiences.crowds[crowd].voidCame(ofLife: life)
        bench.journal.writeVoided(of: crowd, audiences.crowds[crowd], entry: .none, in: &bench.memory)
        return Self.value(bench)
    }
    static func paused(epoch: Int64, sinceMillis: Int64) -> [UInt8] {
        let bench = JournalBench()
        bench.memory.partitions[0] = PartitionState(number: 0, generation: 0, epoch: epoch)
        let key = PauseTable.Key(partition: 0, app: 0, audience: Array("match-7".utf8))
        bench.journal.writePause(key, sinceMillis: sinceMillis, entry: .none, in: &bench.memory)
        return Self.value(bench)
    }
    private static func value(_ bench: JournalBench) -> [UInt8] {
        guard let record = bench.journal.batch.records.last else { return [] }
        return Array(bench.journal.batch.bytes[record.value])
    }
}
