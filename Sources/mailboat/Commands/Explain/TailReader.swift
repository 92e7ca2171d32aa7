import CommandSupport
import KafkaLog

/// Reads a partition backwards from its end, window by window, until it has found enough. It blocks, so call it on a
/// thread of its own.
struct TailReader {
    /// What was read.
    struct Reach: Equatable {
        /// Number of records read, including those that were not wanted.
        var recordCount = 0
        /// The first offset that was read. `endOffset` is the offset after the last.
        var fromOffset: Int64
        var endOffset: Int64
        /// Whether no record is before `fromOffset`.
        var isWhole: Bool
    }

    /// Number of offsets in the first window.
    static let firstWindowOffsets: Int64 = 2_000
    /// The size limit of a window grows by this factor from window to window.
    static let windowGrowth: Int64 = 4

    private let reader: KafkaLogReader
    private let limit: Duration

    /// Creates a reader.
    /// - Parameter kafka: its timeout limits the reading of each partition.
    init(_ kafka: KafkaOptions) throws {
        // Reading stops at the end of a log. A fetch there finds nothing, so Kafka must answer it at once.
        let settings = KafkaSettings([.init("fetch.wait.max.ms", "10")]).appending(try kafka.settings(for: .consumer))
        self.limit = kafka.limit
        do throws(KafkaError) {
            self.reader = try KafkaLogReader(settings, log: { _ in })
        } catch { throw CommandFailure("\(error)") }
    }

    /// Reads backwards, and returns what `pick` made of the records, the newest first.
    /// - Parameters:
    ///   - recordCountMax: approximate maximum number of records to read.
    ///   - isEnough: asked before each window; if true, no further window is read.
    ///   - isOver: asked repeatedly, within a window too; if true, reading stops.
    func pick<Found>(
        _ partition: TopicPartition, recordCountMax: Int, isEnough: () -> Bool,
        isOver: () -> Bool = { false }, _ pick: (OwnedRecord) -> Found?
    ) throws(KafkaError) -> (found: [Found], reach: Reach) {
        let deadline = ContinuousClock.now + self.limit
        let positions = try self.reader.positions(of: [partition], within: self.limit)[0]
        var windows = TailWindows(
            lowOffset: positions.lowOffset, endOffset: positions.endOffset, recordCountMax: recordCountMax)
        var found: [Found] = []
        while !isOver(), !isEnough(), let window = windows.next() {
            var (count, inWindow) = (0, [Found]())
            try self.reader.forEach(
                partition, from: .offset(window.lowerBound), upTo: window.upperBound,
                within: max(.milliseconds(1), deadline - .now), isOver: isOver
            ) { record in
                count += 1
                if let one = pick(record) { inWindow.append(one) }
            }
            windows.wasRead(recordCount: count)
            found += inWindow.reversed()
        }
        return (
            found,
            Reach(
                recordCount: windows.recordCount, fromOffset: windows.startOffset, endOffset: positions.endOffset,
                isWhole: windows.startOffset <= positions.lowOffset)
        )
    }
}

/// Chooses the part of a log to read next, backwards from its end. A compacted log has fewer records than offsets, so
/// the size of the next window follows from the number of records in the earlier ones.
struct TailWindows {
    private let lowOffset: Int64
    private let recordCountMax: Int
    private let endOffset: Int64
    private var size = TailReader.firstWindowOffsets
    /// First offset of the last window.
    private(set) var startOffset: Int64
    private(set) var recordCount = 0

    init(lowOffset: Int64, endOffset: Int64, recordCountMax: Int) {
        self.lowOffset = lowOffset
        self.endOffset = endOffset
        self.recordCountMax = recordCountMax
        self.startOffset = endOffset
    }

    /// The next window; `nil`: the beginning was reached, or the allowed number of records was read.
    mutating func next() -> Range<Int64>? {
        let left = Int64(self.recordCountMax - self.recordCount)
        guard left > 0, self.startOffset > self.lowOffset else { return nil }
        // At first, assume a record at each offset.
        let covered = self.endOffset - self.startOffset
        let density = covered > 0 ? Double(max(1, self.recordCount)) / Double(covered) : 1
        let affordable = Int64(min(Double(left) / density, Double(Int64.max / 2)))
        let count = max(1, min(self.size, affordable))
        let start = max(self.lowOffset, self.startOffset - min(count, self.startOffset))
        defer {
            self.startOffset = start
            // Keep the multiplication from overflowing.
            self.size = min(self.size, Int64.max / (4 * TailReader.windowGrowth)) * TailReader.windowGrowth
        }
        return start..<self.startOffset
    }

    /// Adds the number of records in a window that was read.
    mutating func wasRead(recordCount: Int) { self.recordCount += recordCount }
}
