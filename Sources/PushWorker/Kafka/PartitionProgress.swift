/// Notices partitions that have something to do and make no progress. Pure: the caller passes the time.
///
/// The thread that polls Kafka keeps a worker in its group even if everything else hangs. So membership does not show
/// progress, and this type looks at positions.
struct PartitionProgress {
    /// What is watched: an input topic's part of a partition, or the partition's restore.
    struct Subject: Hashable, Sendable {
        /// The input topic; `nil`: the partition's `state` is being claimed or read.
        var topic: String?
        var partition: Int32
    }

    /// The progress of one subject at this moment.
    struct Reading: Equatable, Sendable {
        var subject: Subject
        /// A number that changes whenever the subject makes progress.
        var position: Int64
        /// Number of records that are left. If it is 0, no progress is expected.
        var leftCount: Int64
        /// Whether a standstill is excused. Its cause is known and shown elsewhere, and a restart would not help: Kafka
        /// does not take records, or memory is full because APNs does not answer.
        var isExcused: Bool
    }

    /// A subject that has made no progress for too long although it has something to do.
    struct Stall: Equatable, Sendable, CustomStringConvertible {
        var subject: Subject
        var position: Int64
        var leftCount: Int64
        var millis: Int64

        var description: String {
            let reading = self.subject.topic.map { "\($0)[\(self.subject.partition)] is at offset \(self.position)" }
            return
                (reading ?? "partition \(self.subject.partition) is being restored and is at record \(self.position)")
                + " for \(self.millis / 1_000) s, and \(self.leftCount) \(self.leftCount == 1 ? "record waits" : "records wait")"
        }
    }

    private struct Seen {
        var position: Int64
        var sinceMillis: Int64
        /// Whether the subject had nothing to do, or was excused. The time limit then starts again.
        var isFree: Bool
    }

    /// How long a standstill may last before it is a stall.
    let limitMillis: Int64
    private var seen: [Subject: Seen] = [:]

    init(limitMillis: Int64) { self.limitMillis = limitMillis }

    /// Compares the readings with the last ones, and returns the stalls. A subject without a reading is forgotten.
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

    /// Restarts the time limit of every subject. Called when Kafka does not answer, because then nobody knows what
    /// waits.
    mutating func excuse() {
        for subject in self.seen.keys { self.seen[subject]?.isFree = true }
    }
}
