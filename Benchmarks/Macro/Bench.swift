import Foundation

/// What every row of a run shares: programs, cores, a place for files, and how long things may take.
final class Bench {
    let mailboat: String
    /// This program, for the processes it starts of itself.
    let own: String
    let cores = CorePlan()
    let isQuick: Bool
    let scratch: String
    /// Folder of the C sources of libraries that processes are started with.
    let preloadedSources: String
    private(set) var rows: [ResultRow] = []
    /// What other rows go by, once measured: pushes per second that the whole worker keeps up, on one core.
    var saturationPerSecond: Double?
    /// Asked for: updates per second of the latency rows, instead of half the rate above.
    var latencyPerSecond: Double?
    /// Asked for: the rates of the paced rows.
    var pacedPerSecond: [Int] = []
    /// A real Kafka, `host:port`, that the rows use instead of an embedded one.
    var bootstrap: String?
    /// librdkafka properties of the workers' consumers, over their defaults.
    var consumerProperties: [(name: String, value: String)] = []
    var isOnRealBroker: Bool { self.bootstrap != nil }
    private let startMicros = Clock.nowMicros
    private var logCount = 0

    init(mailboat: String, isQuick: Bool, preloadedSources: String) throws {
        self.mailboat = mailboat
        self.own = CommandLine.arguments[0]
        self.isQuick = isQuick
        self.preloadedSources = preloadedSources
        // The number has one length: what counted processes are told of it lies in their heap.
        let number = String(format: "%010d", ProcessInfo.processInfo.processIdentifier)
        self.scratch = NSTemporaryDirectory() + "mailboat-bench-\(number)"
        try FileManager.default.createDirectory(atPath: self.scratch, withIntermediateDirectories: true)
        guard FileManager.default.isExecutableFile(atPath: mailboat) else {
            throw BenchmarkFailure("--mailboat \(mailboat): no such program")
        }
    }

    /// Removes the files. Everything started must have ended.
    func cleanUp() { try? FileManager.default.removeItem(atPath: self.scratch) }

    func logPath(_ name: String) -> String {
        self.logCount += 1
        return "\(self.scratch)/\(self.logCount)-\(name).log"
    }

    /// What was measured on a real broker says so.
    func add(_ row: ResultRow) {
        var row = row
        if self.isOnRealBroker { row.name = "real Kafka, " + row.name }
        self.rows.append(row)
    }

    /// A line that says what happens now.
    func say(_ text: String) {
        let seconds = (Clock.nowMicros - self.startMicros) / 1_000_000
        let time = String(repeating: " ", count: max(0, 4 - "\(seconds)".count)) + "\(seconds)"
        print("\(time) s  \(text)")
        fflush(nil)
    }
}
