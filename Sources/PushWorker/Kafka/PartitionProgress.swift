/// Notices partitions that have something to do and do not get on. Pure: told the time.
///
/// A thread that polls Kafka keeps a worker in its group whatever else hangs in it; this looks at what comes of it.
struct PartitionProgress {
    /// What gets on: an input topic's part of a partition, or the partition's restore.
    struct Subject: Hashable, Sendable {
        /// `nil`: its `state` is being claimed or read.
        var topic: String?
        var partition: Int32
    }

    /// How far one is at this moment.
    struct Reading: Equatable, Sendable {
        var subject: Subject
        /// Grows as it gets on, or changes at least.
        var position: Int64
        /// How much is left; 0: nothing to do, so standing still is right.
        var leftCount: Int64
        /// What holds it up is known, shown elsewhere and not mended by a restart: records that Kafka does not take, memory that is
        /// full because APNs does not.
        var isExcused: Bool
    }

    /// One that has had something to do for too long and is where it was.
    struct Stall: Equatable, Sendable, CustomStringConvertible {
        var subject: Subject
        var position: Int64
        var leftCount: Int64
        var millis: Int64

        var description: String {
            let reading = self.subject.topic.map { "\($0)[\(self.subject.partition)] is at offset \(self.position)" }
            return
                (reading ?? "partition \(self.subject.partition) is being restored and is at record \(self.position)")
                + " for \(self.millis / 1_000) s, and \(self.leftCount) records wait"
        }
    }

    private struct Seen {
        var position: Int64
        var sinceMillis: Int64
        /// It had nothing to do, or an excuse: its time begins when it is looked at next.
        var isFree: Bool
    }

    /// How long standing still is no stall.
    let limitMillis: Int64
    private var seen: [Subject: Seen] = [:]

    init(limitMillis: Int64) { self.limitMillis = limitMillis }

    /// Compares with the last readings. A subject that is no longer named is forgotten.
    mutating func look(_ readings: [Reading], nowMillis: Int64) -> [Stall] {
        var stalls: [Stall] = []
        var next: [Subject: Seen] = [:]
        for reading in readings {
            let isFree = reading.leftCount == 0 || reading.isExcused
            var seen = Seen(position: reading.position, sinceMillis: nowMillis, isFree: isFree)
            if !isFree, let last = self.seen[reading.subject], last.position == reading.position, !last.isFree {
                seen.sinceMillis = last.sinceMillis
            }
            next[reading.subject] = seen
            guard nowMillis - seen.sinceMillis >= self.limitMillis else { continue }
            stalls.append(
                Stall(
                    subject: reading.subject, position: reading.position, leftCount: reading.leftCount,
                    millis: nowMillis - seen.sinceMillis))
        }
        self.seen = next
        return stalls
    }

    /// Nobody can tell what waits, Kafka being away: the time does not count.
    mutating func excuse() {
        for subject in self.seen.keys { self.seen[subject]?.isFree = true }
    }
}
