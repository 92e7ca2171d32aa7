import CommandSupport
import KafkaLog

/// Reads a partition from its end backwards, window by window, until enough of what is looked for was found. Blocks: on a thread of its own.
struct TailReader {
    /// What was looked at.
    struct Reach: Equatable {
        /// Records read, those that were not looked for included.
        var recordCount = 0
        /// The first offset that was looked at, and the one after the last.
        var fromOffset: Int64
        var endOffset: Int64
        /// Nothing lies before `fromOffset`.
        var isWhole: Bool
    }

    /// Offsets in the first window; each following one is up to four times as large.
    static let firstWindowOffsets: Int64 = 2_000
    /// How much larger each window is than the one before.
    static let windowGrowth: Int64 = 4

    private let reader: KafkaLogReader
    private let limit: Duration

    /// - Parameter kafka: its timeout is for each partition.
    init(_ kafka: KafkaOptions) throws {
        // Somebody waits for the end of a log, not for what is written to it: a fetch that finds nothing is answered at once.
        let settings = KafkaSettings([.init("fetch.wait.max.ms", "10")]).appending(try kafka.settings(for: .consumer))
        self.limit = kafka.limit
        do throws(KafkaError) {
            self.reader = try KafkaLogReader(settings, log: { _ in })
        } catch { throw CommandFailure("\(error)") }
    }

    /// Keeps what `pick` makes of records, the newest first.
    /// - Parameters:
    ///   - recordCountMax: about as many records are read at most.
    ///   - isEnough: asked before each window: no further one is read.
    ///   - isOver: asked again and again, within a window too: nothing more is read.
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

/// Which part of a log is read next, from its end backwards. A compacted log has fewer records than offsets, so windows grow by what was found
/// in those before.
struct TailWindows {
    private let lowOffset: Int64
    private let recordCountMax: Int
    private let endOffset: Int64
    private var size = TailReader.firstWindowOffsets
    /// Where the last window began.
    private(set) var startOffset: Int64
    private(set) var recordCount = 0

    init(lowOffset: Int64, endOffset: Int64, recordCountMax: Int) {
        self.lowOffset = lowOffset
        self.endOffset = endOffset
        self.recordCountMax = recordCountMax
        self.startOffset = endOffset
    }

    /// `nil`: the beginning is reached, or as many records as allowed were read.
    mutating func next() -> Range<Int64>? {
        let left = Int64(self.recordCountMax - self.recordCount)
        guard left > 0, self.startOffset > self.lowOffset else { return nil }
        // At first as if each offset had a record.
        let covered = self.endOffset - self.startOffset
        let density = covered > 0 ? Double(max(1, self.recordCount)) / Double(covered) : 1
        let affordable = Int64(min(Double(left) / density, Double(Int64.max / 2)))
        let count = max(1, min(self.size, affordable))
        let start = max(self.lowOffset, self.startOffset - min(count, self.startOffset))
        defer {
            self.startOffset = start
            // Never more than a log can have.
            self.size = min(self.size, Int64.max / (4 * TailReader.windowGrowth)) * TailReader.windowGrowth
        }
        return start..<self.startOffset
    }

    /// After each window.
    mutating func wasRead(recordCount: Int) { self.recordCount += recordCount }
}
