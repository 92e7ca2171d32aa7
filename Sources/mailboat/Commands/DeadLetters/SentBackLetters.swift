import CommandSupport
import KafkaLog
import PushModel

/// Finds the events that dead letters were sent back as. A letter itself is never changed. Only the record that
/// `republish` wrote names the letter, in a header.
struct SentBackLetters {
    /// An event that a letter was sent back as.
    struct Event: Equatable, Encodable {
        var topic: String
        var partition: Int32
        var offset: Int64

        var text: String { "\(self.topic)[\(self.partition)]@\(self.offset)" }
    }

    /// Partitions to which the letters would be sent back, each with the time of its oldest letter.
    private var oldestMillis: [TopicPartition: Int64] = [:]
    /// Partition counts of source topics; `nil`: the topic cannot be asked.
    private var partitionCounts: [String: Int32?] = [:]
    private var events: [String: Event] = [:]
    /// Why some letters may have been sent back without being marked; `nil`: there is no such reason.
    private(set) var doubt: String?

    /// The newest event that a letter was sent back as; `nil`: none was found.
    /// - Parameter position: position of the letter, `<partition>:<offset>`.
    subscript(_ position: String) -> Event? { self.events[position] }

    /// Adds the partition to which a letter would be sent back.
    /// - Parameter partitionCount: asked once for each topic.
    mutating func expect(_ letter: DeadLetter, partitionCount: (String) throws -> Int32) {
        guard let source = letter.source, let key = letter.record.key else { return }
        if self.partitionCounts[source.topic] == nil {
            do { self.partitionCounts[source.topic] = try partitionCount(source.topic) } catch {
                self.partitionCounts[source.topic] = .some(nil)
                self.doubt = "\(source.topic) cannot be read: \(error)"
            }
        }
        guard case .some(.some(let count)) = self.partitionCounts[source.topic], count > 0 else { return }
        let partition = TopicPartition(
            topic: source.topic, partition: Murmur2.partition(key: key.span, count: count))
        self.oldestMillis[partition] = min(self.oldestMillis[partition] ?? .max, letter.writtenMillis)
    }

    /// Reads the partitions backwards, each to the time of its oldest letter. Blocks.
    /// - Parameter recordCountMax: approximate maximum number of records to read of each partition.
    mutating func find(_ kafka: KafkaOptions, recordCountMax: Int, progress: (String) -> Void) throws {
        guard !self.oldestMillis.isEmpty else { return }
        let tail = try TailReader(kafka)
        for (partition, oldestMillis) in self.oldestMillis {
            progress("reading \(partition.topic)[\(partition.partition)] backwards")
            var isPast = false
            do throws(KafkaError) {
                let (found, reach) = try tail.pick(
                    partition, recordCountMax: recordCountMax, isEnough: { isPast }
                ) { record -> (letter: String, event: Event)? in
                    if record.timestampMillis < oldestMillis { isPast = true }
                    return record.text(of: .republished).map {
                        ($0, Event(topic: partition.topic, partition: record.partition, offset: record.offset))
                    }
                }
                self.take(found)
                if !isPast, !reach.isWhole {
                    self.doubt =
                        "only the last \(reach.recordCount) records of \(partition.topic)[\(partition.partition)] were searched; --depth reads further back"
                }
            } catch { self.doubt = "\(partition.topic) cannot be read: \(error)" }
        }
    }

    /// Takes events that were sent back, the newest first.
    mutating func take(_ found: [(letter: String, event: Event)]) {
        for one in found where self.events[one.letter] == nil { self.events[one.letter] = one.event }
    }
}
