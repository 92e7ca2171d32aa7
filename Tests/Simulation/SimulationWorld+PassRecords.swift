import Foundation
import PushEngine
import PushModel

/// Judges the numbers in `pass` and `audience` records by the pushes that left and the answers that workers got.
extension SimulationWorld {
    /// Name of a version: the life of its audience, and its stamp.
    struct VersionName: Hashable {
        /// Index of the audience's life in `SimulationWorld.phones`.
        var audience: Int
        var stampSeconds: Int64
    }
    /// Number of pushes of a version in one partition that workers know to be accepted, and when a worker last learnt
    /// of one.
    struct VersionTally {
        var acceptedCount = 0
        var lastAcceptedMillis = Int64.min
    }
    /// The numbers in a `pass` or `audience` record.
    struct ManyRecord {
        var counts: [String: Int]
        /// Number of members that are gone or failed for a reason that the record names.
        var refusedCount: Int
        /// Number of partitions that an `audience` record lists as missing or unfinished.
        var openCount = 0

        subscript(name: String) -> Int { self.counts[name] ?? 0 }
    }
    private static let ends = ["accepted", "superseded", "expired", "gone", "failed", "left", "waiting"]
    /// Maximum number of versions that an audience's owner sums up, and that a partition counts in addition to the
    /// newest.
    private static let versionsSummedMax = 4

    // MARK: What is heard

    func tallyAccepted(_ flight: Flight) {
        let name = VersionName(audience: flight.activity, stampSeconds: flight.stampSeconds)
        self.tallies[name, default: [:]][flight.partition, default: VersionTally()].acceptedCount += 1
        self.tallies[name]?[flight.partition]?.lastAcceptedMillis = self.steadyMillis
    }

    /// Remembers a `pass` or `audience` record. It replaces earlier records of the same key.
    func rememberAboutMany(_ record: LoggedRecord) {
        let key = String(decoding: record.key, as: UTF8.self)
        let isPass = key.hasPrefix("pass/")
        guard isPass || key.hasPrefix("audience/") else { return }
        guard let json = try? JSONSerialization.jsonObject(with: Data(record.value)),
            let fields = json as? [String: Any], let stamp = fields["version"] as? Int64,
            let id = fields["audience"] as? String, let bundleID = fields["app"] as? String,
            let refused = fields["refused"] as? [String: Int]
        else { return self.fail("\(key) cannot be read: \(String(decoding: record.value, as: UTF8.self))") }
        var many = ManyRecord(counts: [:], refusedCount: refused.values.reduce(0, +))
        for (name, value) in fields { many.counts[name] = (value as? NSNumber)?.intValue }
        many.openCount = ["missing", "unfinished"].map { (fields[$0] as? [Any])?.count ?? 0 }.reduce(0, +)
        let sum = Self.ends.map { many[$0] }.reduce(0, +)
        if many["members"] != sum { self.fail("\(key): \(many["members"]) members, and \(sum) are told of") }
        // Gone or failed members that had left the audience before the answer arrived are counted without a reason.
        if many.refusedCount > many["gone"] + many["failed"] {
            self.fail("\(key): \(many.refusedCount) refused, \(many["gone"]) gone and \(many["failed"]) failed")
        }
        // Stamps grow from one life of an audience to the next, so a stamp names one life.
        let audience = self.audienceNumbers.last {
            self.phones[$0].key == id && self.phones[$0].audience?.versions[stamp] != nil
                && self.phones[$0].audience.map { self.plan.apps[Int($0.app)].bundleID } == bundleID
        }
        guard let audience else {
            if many["accepted"] > 0 { self.fail("\(key): \(many["accepted"]) accepted, and no push has left") }
            return
        }
        let name = VersionName(audience: audience, stampSeconds: stamp)
        let tallies = self.tallies[name] ?? [:]
        if isPass {
            guard let partition = (fields["partition"] as? NSNumber)?.int32Value else {
                return self.fail("\(key) names no partition")
            }
            let accepted = tallies[partition]?.acceptedCount ?? 0
            if many["accepted"] > accepted { self.fail("\(key): \(many["accepted"]) accepted of \(accepted)") }
            self.passRecords[name, default: [:]][partition] = many
        } else {
            let accepted = tallies.values.map(\.acceptedCount).reduce(0, +)
            if many["accepted"] > accepted { self.fail("\(key): \(many["accepted"]) accepted of \(accepted)") }
            self.audienceRecords[name] = many
        }
    }

    /// Remembers a progress record or a void of an audience that was stored in a partition of `state`.
    /// - Parameter key: a letter, then `/<bundle id>/<audience id>`.
    func rememberCrowdRecord(_ transit: SimulatedKafka.Transit, key: String) {
        let parts = key.split(separator: "/", maxSplits: 2)
        guard parts.count == 3, !transit.record.isTombstone else { return }
        let (partition, id) = (transit.logID.partition, String(parts[2]))
        if parts[0] == "p" {
            let former = self.progressMadeAt[partition]?[id]?[transit.producer] ?? 0
            self.progressMadeAt[partition, default: [:]][id, default: [:]][transit.producer] = max(
                former, transit.record.madeAt)
        } else if parts[0] == "d" {
            self.voidTimes[partition, default: [:]][id, default: []].append(self.steadyMillis)
        }
    }

    // MARK: At the end

    /// Judges the numbers in `pass` and `audience` records. They must be exact if no partition has changed hands since
    /// the version began. A world in which Kafka may give up a record is not judged, because such a record is written
    /// again behind newer ones.
    func judgeRecordsAboutMany(_ audience: Int) {
        guard let life = self.phones[audience].audience, self.plan.produceFailurePercent == 0 else { return }
        for (stamp, version) in life.versions.sorted(by: { $0.key < $1.key }) {
            let name = VersionName(audience: audience, stampSeconds: stamp)
            guard let tallies = self.tallies[name], let began = version.first.values.min() else { continue }
            var isExact = true
            for (partition, tally) in tallies.sorted(by: { $0.key < $1.key }) where tally.acceptedCount > 0 {
                guard
                    self.isCounted(version, of: audience, in: partition, since: began, until: tally.lastAcceptedMillis)
                else {
                    isExact = false
                    continue
                }
                self.judgePass(name, partition: partition, accepted: tally.acceptedCount)
            }
            // The sum also includes partitions without an accepted push. They lose their counts too when they change
            // hands.
            let unanswered = Set(version.first.keys.map(\.partition)).filter { tallies[$0]?.acceptedCount ?? 0 == 0 }
            for partition in unanswered
            where !self.isCounted(version, of: audience, in: partition, since: began, until: self.steadyMillis) {
                isExact = false
            }
            let event = version.event.map { self.written[self.order[$0]]!.writtenMillis } ?? began
            guard isExact,
                self.isCounted(
                    version, of: audience, in: self.home(of: audience), since: event, until: self.steadyMillis)
            else { continue }
            self.judgeSum(name)
        }
    }

    /// Whether the partition has counted the version all the time. It has kept its owner and its members, and there are
    /// too few newer versions to displace this one.
    private func isCounted(
        _ version: SimulatedAudience.Version, of audience: Int, in partition: Int32, since: Int64, until: Int64
    ) -> Bool {
        let newer = self.order.count {
            let event = self.written[$0]!
            return event.activity == audience && event.isContent && event.number > version.event ?? 0
                && event.writtenMillis <= until
        }
        // A partition that forgets an audience's members also forgets the numbers of the audience's versions. Members
        // that join later are counted again if a new owner still has the audience.
        let wasVoided = self.voidTimes[partition]?[self.phones[audience].key]?.contains { $0 >= since && $0 <= until }
        return newer < Self.versionsSummedMax && wasVoided != true
            && !(self.moveTimes[partition] ?? []).contains { $0 >= since }
    }

    private func judgePass(_ name: VersionName, partition: Int32, accepted: Int) {
        let what = "version \(name.stampSeconds) of audience \(name.audience) in partition \(partition)"
        guard let record = self.passRecords[name]?[partition] else {
            return self.fail("\(what): \(accepted) were accepted, and no record tells of it")
        }
        if record["accepted"] != accepted {
            self.fail("\(what): \(accepted) were accepted, its record says \(record["accepted"])")
        }
        if record["waiting"] != 0 { self.fail("\(what): its last record has \(record["waiting"]) members waiting") }
    }

    private func judgeSum(_ name: VersionName) {
        let what = "version \(name.stampSeconds) of audience \(name.audience)"
        guard let record = self.audienceRecords[name] else { return self.fail("\(what): no record tells of it") }
        let passes = self.passRecords[name] ?? [:]
        let accepted = passes.values.map { $0["accepted"] }.reduce(0, +)
        if record["accepted"] != accepted {
            self.fail("\(what): its passes say that \(accepted) were accepted, and their sum \(record["accepted"])")
        }
        if record.openCount > 0 { self.fail("\(what): its last record has \(record.openCount) partitions open") }
    }
}
