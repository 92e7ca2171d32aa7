/// Results of an `ingest` or `raw-consumption` process, and the line that reports them.
struct IngestMeasurement: Equatable {
    var eventCount = 0
    var pushCount = 0
    var cpuMicros = 0.0
    var wallMicros = 0.0
    var brokerMicros = 0.0

    init() {}

    var line: String {
        "consumed \(self.eventCount) \(self.pushCount) \(self.cpuMicros) \(self.wallMicros) \(self.brokerMicros)"
    }

    /// Reads the results from the output of a process. `nil` means that the output has no such line.
    init?(output: String) {
        guard let line = output.split(separator: "\n").first(where: { $0.hasPrefix("consumed ") }) else { return nil }
        let numbers = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        guard numbers.count == 5 else { return nil }
        self.eventCount = Int(numbers[0])
        self.pushCount = Int(numbers[1])
        self.cpuMicros = numbers[2]
        self.wallMicros = numbers[3]
        self.brokerMicros = numbers[4]
    }
}

/// Measures the CPU of this process and of the broker, and the time, between two moments.
struct IngestMeter {
    private let own: ProcessMeter
    private let broker: ProcessMeter
    private var begin = (own: Int64(0), broker: Int64(0), wall: Int64(0))

    init(own: Int32, broker: Int32) throws {
        self.own = try ProcessMeter(pid: own)
        self.broker = try ProcessMeter(pid: broker)
    }

    mutating func start() { self.begin = (self.own.cpuMicros, self.broker.cpuMicros, Clock.nowMicros) }

    func measured(eventCount: Int, pushCount: Int) -> IngestMeasurement {
        var result = IngestMeasurement()
        result.cpuMicros = Double(self.own.cpuMicros - self.begin.own)
        result.brokerMicros = Double(self.broker.cpuMicros - self.begin.broker)
        result.wallMicros = Double(Clock.nowMicros - self.begin.wall)
        result.eventCount = eventCount
        result.pushCount = pushCount
        return result
    }
}
