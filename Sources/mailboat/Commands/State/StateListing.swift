import ChannelKeeping
import CommandSupport
import Foundation
import KafkaLog
import PushEngine
import PushModel

/// Records of the `state` topic, partition by partition, as lines for a person or as JSON.
struct StateListing {
    private let reader: StateRecordReader
    private let key: String?
    private let audience: String?
    private let showsAll: Bool
    private let showsContent: Bool
    private let isJSON: Bool
    private let nowMillis: Int64
    /// Records of the partition being read: the newest of each key, or all of them.
    private var entries: [Entry] = []
    private var entryIndexes: [[UInt8]: Int] = [:]
    private(set) var unreadableCount = 0
    private(set) var recordCount = 0
    private var slotCount = 0
    private var pendingCount = 0
    private var audienceCount = 0
    private var memberCount = 0
    /// Number of members whose join names a channel.
    private var listenerCount = 0
    /// References by which members of the partition being read name the searched audience, one for each app.
    private var audienceReferences: Set<String> = []
    /// Number of members of the searched audience that were found.
    private var foundMemberCount = 0
    private var foundListenerCount = 0
    private var foundPartitions: Set<Int32> = []
    private var foundCounts: [String: UInt64] = [:]

    private struct Entry {
        var partition: Int32
        var offset: Int64
        var key: String
        var description: StateRecordDescription
    }

    init(
        reader: StateRecordReader, key: String?, audience: String? = nil, showsAll: Bool, showsContent: Bool,
        isJSON: Bool, nowMillis: Int64
    ) {
        self.reader = reader
        self.key = key
        self.audience = audience
        self.showsAll = showsAll
        self.showsContent = showsContent
        self.isJSON = isJSON
        self.nowMillis = nowMillis
    }

    mutating func add(_ record: OwnedRecord) {
        self.recordCount += 1
        let key = record.key ?? []
        let description = self.reader.read(
            key: key, value: record.value,
            tombstoneEpoch: record.text(of: .epoch).flatMap { Int64($0) }, nowMillis: self.nowMillis)
        let entry = Entry(
            partition: record.partition, offset: record.offset, key: Self.text(ofKey: key),
            description: description)
        if self.showsAll { return self.entries.append(entry) }
        if let location = self.entryIndexes[key] {
            self.entries[location] = entry
        } else {
            self.entryIndexes[key] = self.entries.count
            self.entries.append(entry)
        }
    }

    /// A key as text. A member's key is its raw token; only its first digits are shown.
    private static func text(ofKey key: [UInt8]) -> String {
        guard let token = StateRecordReader.memberToken(inKey: key) else { return String(decoding: key, as: UTF8.self) }
        var digits: [UInt8] = []
        for byte in token { digits.append(copying: Array(Self.hex(byte)).span) }
        return TokenText.shortened("\(Character(Unicode.Scalar(key[0])))/" + String(decoding: digits, as: UTF8.self))
    }
    private static func hex(_ byte: UInt8) -> String.UTF8View {
        let digits = String(byte, radix: 16)
        return (byte < 16 ? "0" + digits : digits).utf8
    }

    /// Returns the lines about the partition that was read, and begins the next one.
    mutating func takeLines() -> [String] {
        let entries = self.entries
        self.entries = []
        self.entryIndexes = [:]
        self.audienceReferences = []
        for entry in entries {
            guard let audience, entry.description.audience == audience, let app = entry.description.app else {
                continue
            }
            self.audienceReferences.insert(StateRecordReader.audienceReference(app: app, audience: audience))
        }
        return entries.sorted { $0.offset < $1.offset }.flatMap { self.lines($0) }
    }

    var summary: String {
        "\(NumberText.count(self.recordCount, "record")) read: \(NumberText.count(self.slotCount, "activity", plural: "activities")), \(self.pendingCount) with something to send"
            + (self.audienceCount + self.memberCount == 0
                ? ""
                : "; \(NumberText.count(self.audienceCount, "audience")), \(NumberText.count(self.memberCount, "member"))")
            + (self.listenerCount == 0 ? "" : ", \(self.listenerCount) of them listen on a channel")
            + self.foundSummary
            + (self.unreadableCount == 0
                ? "" : "; \(NumberText.count(self.unreadableCount, "record")) could not be read")
    }

    /// What all partitions hold of the audience that is searched for.
    private var foundSummary: String {
        guard let audience else { return "" }
        let names = ["members", "accepted", "waiting", "gone", "failed"]
        let counts = names.compactMap { name in self.foundCounts[name].map { Self.count($0, name) } }
        let members = NumberText.count(self.foundMemberCount, "member")
        return "; \(audience): \(members) in \(NumberText.count(self.foundPartitions.count, "partition"))"
            + (self.foundListenerCount == 0 ? "" : ", \(self.foundListenerCount) of them listen on a channel")
            + (counts.isEmpty ? "" : "; newest versions there: \(counts.joined(separator: ", "))")
    }
    /// A number with its name, such as `2 members` or `3 left`. Only “members” has a singular.
    private static func count(_ number: some BinaryInteger, _ name: String) -> String {
        name == "members" ? NumberText.count(number, "member") : "\(number) \(name)"
    }
    /// Whether the record is about what is searched for.
    private func isMeant(_ entry: Entry) -> Bool {
        if let audience {
            if case .member(let member) = entry.description.content {
                return self.audienceReferences.contains(member.audienceReference)
            }
            if case .pause(let pause) = entry.description.content, pause.isOfApp { return true }
            return entry.description.audience == audience
        }
        return self.key == nil || self.key == entry.description.id
    }
    private mutating func countFound(_ entry: Entry) {
        switch entry.description.content {
        case .member(let member) where !member.hasLeft || member.isStartToken:
            self.foundMemberCount += 1
            if member.listens { self.foundListenerCount += 1 }
            self.foundPartitions.insert(entry.partition)
        case .crowd(let crowd):
            for (name, count) in crowd.counts ?? [:] { self.foundCounts[name, default: 0] += count }
        default: break
        }
    }
    private mutating func lines(_ entry: Entry) -> [String] {
        var isUnreadable = false
        switch entry.description.content {
        case .slot(let slot):
            if slot.isAudience { self.audienceCount += 1 } else { self.slotCount += 1 }
            if !slot.updates.isEmpty { self.pendingCount += 1 }
        case .unknownVersion, .malformed:
            isUnreadable = true
            self.unreadableCount += 1
        case .member(let member) where !member.hasLeft || member.isStartToken:
            self.memberCount += 1
            if member.listens { self.listenerCount += 1 }
        case .member: break
        case .marker, .crowd, .pause, .keptChannel: break
        case .tombstone: if !self.showsAll { return [] }
        }
        // An unreadable record is always shown, because it may be what is searched for.
        guard isUnreadable || self.isMeant(entry) else { return [] }
        self.countFound(entry)
        return self.isJSON ? [self.json(entry)] : self.text(entry)
    }

    // MARK: Text for a person

    /// When the member joined. If its update token has left or died, the record has the time when that was written
    /// down. The record does not say which of the two it was.
    private static func since(_ member: StateRecordDescription.Member) -> String {
        let time = Self.time(millis: member.joinedSeconds * 1_000)
        guard member.hasLeft else { return ", joined \(time)" }
        return member.isStartToken ? ", has left, joined \(time)" : ", gone since \(time) (left, or its token died)"
    }

    private func text(_ entry: Entry) -> [String] {
        let location = "[\(entry.partition)]@\(entry.offset)"
        let name = TokenText.shortened(
            entry.description.id.map { "\(entry.description.app ?? "") \($0)" } ?? entry.key)
        switch entry.description.content {
        case .marker(let marker):
            return [
                "\(location)  marker  taken over \(Self.time(millis: marker.takenOverMillis)), epoch "
                    + "\(marker.epoch ?? entry.offset), \(NumberText.count(marker.partitionCount, "partition"))"
                    + (marker.cluster.isEmpty ? "" : ", cluster \(marker.cluster)")
            ]
        case .tombstone(let epoch):
            return ["\(location)  \(name)  gone" + (epoch.map { ", epoch \($0)" } ?? "")]
        case .unknownVersion(let version):
            return ["\(location)  \(name)  UNREADABLE: version \(version), which this release does not know"]
        case .malformed(let text): return ["\(location)  \(name)  UNREADABLE: \(text)"]
        case .slot(let slot): return self.text(slot, head: "\(location)  \(name)")
        case .member(let member):
            return [
                "\(location)  \(member.isStartToken ? "start member" : "member") \(entry.key.dropFirst(2)) #\(member.tokenHash) of audience \(self.audience ?? member.audienceReference), "
                    + "\(member.environment)\(member.frequentUpdates ? ", frequent updates" : "")\(member.listens ? ", listens on a channel" : "")\(Self.since(member)), epoch \(member.epoch)"
            ]
        case .crowd(let crowd):
            let passes = crowd.passes.map {
                "\($0.environment): \(Int($0.shareMet * 100)) % of the round done, \(NumberText.count($0.waitingCount, "member waits", plural: "members wait"))"
            }
            let counts = crowd.counts.map { counts in
                let names = ["members", "accepted", "superseded", "expired", "gone", "failed", "left", "waiting"]
                return ["    " + names.map { "\($0) \(counts[$0] ?? 0)" }.joined(separator: ", ")]
            }
            let stamps = crowd.stampSeconds.map { "\($0)" }.joined(separator: ", ")
            return [
                "\(location)  \(name)  \(crowd.record) here, life \(crowd.life), stamps \(stamps), epoch \(crowd.epoch)"
            ] + passes.map { "    \($0)" } + (counts ?? [])
        case .keptChannel(let kept): return [Self.text(kept, app: entry.description.app ?? "", location: location)]
        case .pause(let pause):
            let what = pause.isOfApp ? "all audiences of \(entry.description.app ?? "")" : name
            return [
                "\(location)  \(what) paused here since \(Self.time(millis: pause.sinceMillis)), epoch \(pause.epoch)"
            ]
        }
    }

    private static func text(
        _ kept: StateRecordDescription.KeptChannel, app: String, location: String
    ) -> String {
        var facts = ["\(kept.phase) since \(Self.time(millis: kept.sinceMillis))", "keeps \(kept.storage)"]
        if let audience = kept.audience, let life = kept.audienceLife { facts.append("for \(audience), life \(life)") }
        if let id = kept.id { facts.append("id \(id)") }
        if kept.endedMillis != nil { facts.append("\(NumberText.count(kept.beaconsSent, "time")) of its end served") }
        facts.append("epoch \(kept.epoch)")
        return "\(location)  kept channel \(kept.number) of \(app), \(kept.environment)  "
            + facts.joined(separator: ", ")
    }

    private func text(_ slot: StateRecordDescription.Slot, head: String) -> [String] {
        var facts = [slot.life, slot.environment]
        if let channel = slot.channel {
            facts.append("channel, keeps \(channel.storage ?? "nobody knows what")\(slot.tokenIsDead ? " (gone)" : "")")
        } else if slot.isAudience {
            facts.append("audience")
        } else {
            facts.append(slot.tokenHash.map { "token #\($0)\(slot.tokenIsDead ? " (dead)" : "")" } ?? "no token")
        }
        if slot.frequentUpdates { facts.append("frequent updates") }
        facts.append("epoch \(slot.epoch)")
        var times = ["accepted \(slot.lastAcceptedSeconds.map { Self.time(millis: $0 * 1_000) } ?? "nothing")"]
        if let stamp = slot.lastStampSeconds { times.append("last stamp \(stamp)") }
        if slot.budgetUnitsOut > 0 {
            let back = slot.budgetReturnsMillis.map { ", the first back at \(Self.time(millis: $0))" } ?? ""
            times.append("budget \(slot.budgetUnitsOut) spent\(back)")
        }
        if let channel = slot.channel {
            times.append("not before \(Self.time(millis: channel.notBeforeMillis))")
            if channel.throttleSteps > 0 { times.append("distance stretched by \(channel.throttleSteps)/4 doublings") }
        }
        if let applied = slot.applied { times.append("applied up to \(applied.topic)@\(applied.offset)") }
        if let offset = slot.appliedRoutedOffset { times.append("applied up to routed@\(offset)") }
        return ["\(head)  \(facts.joined(separator: ", "))", "    \(times.joined(separator: ", "))"]
            + (slot.book.map { self.text($0) } ?? []) + slot.updates.flatMap { self.text($0) }
    }

    private func text(_ book: StateRecordDescription.Book) -> [String] {
        var lines = [
            "    life \(book.audienceLife), members in \(NumberText.count(book.partitions.count, "partition")), "
                + "budget \(book.budgetUnitsOut) spent, \(book.frequentBudgetUnitsOut) of frequent updates"
        ]
        if !book.partitions.isEmpty {
            let partitions = book.partitions.map { "\($0.partition) up to \($0.doneStampSeconds)" }
            lines.append("    priority 10 done: \(partitions.joined(separator: ", "))")
        }
        for channel in book.channels {
            var facts = [channel.standing]
            if let id = channel.id { facts.append("id \(TokenText.shortened(id))") }
            if let stamp = channel.takenStampSeconds { facts.append("taken up to \(stamp)") }
            facts.append(channel.serves ? "serves those that listen" : "those that listen are served by their tokens")
            lines.append("    channel, \(channel.environment): \(facts.joined(separator: ", "))")
        }
        for version in book.versions {
            lines.append(
                "    version \(version.stampSeconds): \(version.event) of \(NumberText.count(version.mergedCount, "event")), "
                    + (version.isOpen ? "not told to all partitions" : "told to all partitions"))
        }
        return lines
    }

    private func text(_ update: StateRecordDescription.Update) -> [String] {
        var facts = [
            "\(update.openCount) of \(NumberText.count(update.mergedCount, "event")) open",
            "priority \(update.priority)",
            NumberText.count(update.byteCount, "byte"), "timestamp \(update.timestampSeconds)",
        ]
        if let stamp = update.stampSeconds { facts.append("stamp \(stamp)") }
        if update.hasAlert { facts.append("alert") }
        if let expires = update.expiresSeconds { facts.append("expires \(Self.time(millis: expires * 1_000))") }
        if update.mayBeSent { facts.append("may be on the phone") }
        let newest = update.newest
        facts.append("newest \(newest.topic)[\(newest.partition ?? -1)]@\(newest.offset)")
        var lines = ["    waits: \(update.event), \(facts.joined(separator: ", "))"]
        if self.showsContent {
            if !update.contentState.isEmpty {
                lines.append("      content-state \(TokenText.shortened(update.contentState))")
            }
            if !update.alert.isEmpty { lines.append("      alert \(TokenText.shortened(update.alert))") }
        }
        return lines
    }

    private static func time(millis: Int64) -> String {
        Date(timeIntervalSince1970: Double(millis) / 1_000).ISO8601Format()
    }

    // MARK: JSON for a program

    private struct Line: Encodable {
        var partition: Int32
        var offset: Int64
        var key: String
        var app: String?
        var activity: String?
        var channel: String?
        var audience: String?
        var slot: StateRecordDescription.Slot?
        var marker: StateRecordDescription.Marker?
        var member: StateRecordDescription.Member?
        var crowd: StateRecordDescription.Crowd?
        var pause: StateRecordDescription.Pause?
        var keptChannel: StateRecordDescription.KeptChannel?
        var tombstone: Bool?
        var epoch: Int64?
        var unreadable: String?
    }

    private func json(_ entry: Entry) -> String {
        var line = Line(
            partition: entry.partition, offset: entry.offset, key: entry.key, app: entry.description.app,
            activity: entry.description.activity, channel: entry.description.channel,
            audience: entry.description.audience)
        switch entry.description.content {
        case .slot(var slot):
            if !self.showsContent {
                for index in slot.updates.indices {
                    (slot.updates[index].contentState, slot.updates[index].alert) = ("", "")
                }
            }
            line.slot = slot
        case .marker(let marker): line.marker = marker
        case .member(let member): line.member = member
        case .pause(let pause): line.pause = pause
        case .keptChannel(let kept): line.keptChannel = kept
        case .crowd(var crowd):
            if !self.showsContent { crowd.contentState = nil }
            line.crowd = crowd
        case .tombstone(let epoch):
            line.tombstone = true
            line.epoch = epoch
        case .unknownVersion(let version): line.unreadable = "version \(version), which this release does not know"
        case .malformed(let text): line.unreadable = text
        }
        return JSONLine.text(line)
    }
}
