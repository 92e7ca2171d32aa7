import Foundation

/// Things that all rows of a run share: programs, cores, a directory for files, and the rows measured so far.
final class Bench {
    let mailboat: String
    /// Path of this program, which also runs some of the measured processes.
    let own: String
    let cores = CorePlan()
    let isQuick: Bool
    let scratch: String
    /// Directory with the C sources of libraries that are preloaded into processes.
    let preloadedSources: String
    private(set) var rows: [ResultRow] = []
    /// Pushes per second that the whole worker can sustain on one core. `nil` until the worker rows have measured it.
    /// The latency rows then use it.
    var saturationPerSecond: Double?
    /// Updates per second of the latency rows, if the caller gave them. `nil` means that the rows choose a rate.
    var latencyPerSecond: Double?
    /// Updates per second of the paced rows, if the caller gave them. Empty means the rows' own rates.
    var pacedPerSecond: [Int] = []
    /// A real Kafka, `host:port`, that the rows use instead of an embedded one.
    var bootstrap: String?
    /// librdkafka properties that replace defaults of the workers' consumers.
    var consumerProperties: [(name: String, value: String)] = []
    var isOnRealBroker: Bool { self.bootstrap != nil }
    private let startMicros = Clock.nowMicros
    private var logCount = 0

    init(mailboat: String, isQuick: Bool, preloadedSources: String) throws {
        self.mailboat = mailboat
        self.own = CommandLine.arguments[0]
        self.isQuick = isQuick
        self.preloadedSources = preloadedSources
        // Counted processes keep this number on their heap, so it always has the same length.
        let number = String(format: "%010d", ProcessInfo.processInfo.processIdentifier)
        self.scratch = NSTemporaryDirectory() + "mailboat-bench-\(number)"
        try FileManager.default.createDirectory(atPath: self.scratch, withIntermediateDirectories: true)
        guard FileManager.default.isExecutableFile(atPath: mailboat) else {
            throw BenchmarkFailure("--mailboat \(mailboat): no such program")
        }
    }

    /// Removes the run's files. Every process that was started must have ended.
    func cleanUp() { try? FileManager.default.removeItem(atPath: self.scratch) }

    func logPath(_ name: String) -> String {
        self.logCount += 1
        return "\(self.scratch)/\(self.logCount)-\(name).log"
    }

    /// Adds a row. The name of a row that was measured on a real broker says so.
    func add(_ row: ResultRow) {
        var row = row
        if self.isOnRealBroker { row.name = "real Kafka, " + row.name }
        self.rows.append(row)
    }

    /// Prints a line of progress, which begins with the seconds since the start of the run.
    func say(_ text: String) {
        let seconds = (Clock.nowMicros - self.startMicros) / 1_000_000
        let time = String(repeating: " ", count: max(0, 4 - "\(seconds)".count)) + "\(seconds)"
        print("\(time) s  \(text)")
        fflush(nil)
    }
}
