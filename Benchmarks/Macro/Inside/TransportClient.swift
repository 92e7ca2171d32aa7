import APNSPool
import APNSProtocol
import ArgumentParser
import Foundation
import Logging
import NIOCore
import NIOPosix
import PushModel
import PushTransport
import TLSSession

/// Measures the transport alone, in a process of its own. It sends as many pushes as the server takes, without a loop
/// or Kafka.
struct TransportClientCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transport-client", abstract: "Push through the transport alone and say what it cost.",
        shouldDisplay: false)

    @Option var port: Int
    @Option var ca: String
    @Option var key: String
    @Option var connections: Int
    @Option var streams: Int
    @Option var pushes: Int
    /// Number of pushes before the measurement begins.
    @Option var warmUp: Int
    /// Process id of the server. Its CPU is read at the same moments as this process's.
    @Option var serverPid: Int32

    func run() throws {
        let logger = Self.makeLogger()
        let store = try ProviderTokenStore(
            keys: [ProviderKey(keyID: Sink.keyID, teamID: Sink.teamID, path: self.key)], logger: logger)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let loop = group.next()
        let finished = loop.makePromise(of: TransportMeasurement.self)
        try loop.submit {
            var route = RouteConfiguration(name: "bench", host: "127.0.0.1", port: self.port, providerKey: 0)
            route.serverName = "localhost"
            route.trustRoots = .file(path: self.ca)
            route.pool.connectionsMax = self.connections
            route.pool.connectionsWarm = self.connections
            route.pool.streamsPerConnectionMax = self.streams
            // `streams` alone decides how many requests are in flight, so the pool must not lower that number.
            route.pool.limitsInFlight = false
            let transport = try ShardTransport(
                eventLoop: loop, routes: [route], bundleIDs: [SampleRequest.bundleID], providerTokens: store,
                randomSeed: 1, logger: logger)
            let load = try TransportLoad(
                transport, pushes: self.pushes, warmUp: self.warmUp, connections: self.connections,
                server: try ProcessMeter(pid: self.serverPid), finished: finished)
            load.start()
        }.wait()
        print(try finished.futureResult.wait().line)
        try group.syncShutdownGracefully()
    }
}

extension TransportClientCommand {
    private static func makeLogger() -> Logger {
        var logger = Logger(label: "transport-client")
        logger.logLevel = .warning
        return logger
    }
}

/// Results of the transport client, and the line that reports them.
struct TransportMeasurement: Equatable {
    var pushes = 0
    var cpuMicros = 0.0
    var wallMicros = 0.0
    var serverCPUMicros = 0.0
    var peakByteCount = 0
    var allocations = AllocationCounts()

    var line: String {
        "measured \(self.pushes) \(self.cpuMicros) \(self.wallMicros) \(self.serverCPUMicros) \(self.peakByteCount) "
            + "\(self.allocations.swift) \(self.allocations.nghttp2) \(self.allocations.openSSL) "
            + "\(self.allocations.librdkafka) \(self.allocations.other)"
    }

    init() {}

    /// Reads the results from the output of a process. `nil` means that the output has no such line.
    init?(output: String) {
        guard let line = output.split(separator: "\n").first(where: { $0.hasPrefix("measured ") }) else { return nil }
        let numbers = line.split(separator: " ").dropFirst().compactMap { Double($0) }
        guard numbers.count == 10 else { return nil }
        self.pushes = Int(numbers[0])
        self.cpuMicros = numbers[1]
        self.wallMicros = numbers[2]
        self.serverCPUMicros = numbers[3]
        self.peakByteCount = Int(numbers[4])
        self.allocations.swift = Int(numbers[5])
        self.allocations.nghttp2 = Int(numbers[6])
        self.allocations.openSSL = Int(numbers[7])
        self.allocations.librdkafka = Int(numbers[8])
        self.allocations.other = Int(numbers[9])
    }
}

/// A load that keeps every stream busy. It is used only on the transport's event loop.
final class TransportLoad {
    private let transport: ShardTransport
    private let pushes: Int
    private let warmUp: Int
    private let connections: Int
    private let server: ProcessMeter
    private let own: ProcessMeter
    private let finished: EventLoopPromise<TransportMeasurement>
    private let body = Array(SampleRequest.body.utf8)
    private let allocationsPath = ProcessInfo.processInfo.environment[AllocationCounts.variable] ?? ""
    private var driver: TransportDriver?
    private var sent = 0
    private var answeredCount = 0
    private var refusedCount = 0
    private var isMeasuring = false
    private var isFinished = false
    private var begin = (cpu: Int64(0), wall: Int64(0), server: Int64(0), allocations: AllocationCounts())
    private var measuredFrom = 0

    init(
        _ transport: ShardTransport, pushes: Int, warmUp: Int, connections: Int, server: ProcessMeter,
        finished: EventLoopPromise<TransportMeasurement>
    ) throws {
        self.transport = transport
        self.pushes = pushes
        self.warmUp = warmUp
        self.connections = connections
        self.server = server
        self.own = try ProcessMeter(pid: getpid())
        self.finished = finished
    }

    /// Starts the load. Its turns keep it alive until it has finished.
    func start() {
        let driver = TransportDriver(self.transport) { answers in
            self.take(answers)
            self.pump()
        }
        self.driver = driver
        driver.start()
    }

    /// Sends while there is credit.
    private func pump() {
        guard !self.isFinished else { return }
        let rest = self.warmUp + self.pushes - self.sent
        _ = self.transport.submit(route: 0, max: rest) {
            let isFilled = self.fill(&$0)
            self.sent += 1
            return isFilled
        }
        // Without credit, this call makes the transport ask for a turn as soon as there is credit.
        if self.sent < self.warmUp + self.pushes { self.transport.wantsCredit(route: 0) }
    }

    /// Fills a request with another path and another `apns-id` for each push.
    private func fill(_ request: inout PushRequest) -> Bool {
        let number = UInt64(self.sent)
        request.id = PushID(rawValue: number)
        request.app = 0
        request.priority = .high
        request.expirationSeconds = SampleRequest.expirationSeconds
        let random = number &* 0x9E37_79B9_7F4A_7C15
        request.apnsID = (random & ~0xf000 | 0x4000, number | 0x8000_0000_0000_0000)
        request.target.removeAll(keepingCapacity: true)
        SampleRequest.appendToken(number, to: &request.target)
        request.body.removeAll(keepingCapacity: true)
        request.body.append(contentsOf: self.body)
        return true
    }

    private func take(_ answers: [PushAnswer]) {
        guard !self.isFinished else { return }
        for answer in answers where answer.result != .accepted { self.refusedCount += 1 }
        self.answeredCount += answers.count
        if !self.isMeasuring, self.answeredCount >= self.warmUp {
            self.isMeasuring = true
            self.measuredFrom = self.answeredCount
            self.begin = (
                self.own.cpuMicros, Clock.nowMicros, self.server.cpuMicros,
                AllocationCounts(path: self.allocationsPath)
            )
        }
        if self.answeredCount >= self.warmUp + self.pushes { self.finish() }
    }

    private func finish() {
        self.isFinished = true
        var result = TransportMeasurement()
        result.cpuMicros = Double(self.own.cpuMicros - self.begin.cpu)
        result.wallMicros = Double(Clock.nowMicros - self.begin.wall)
        result.serverCPUMicros = Double(self.server.cpuMicros - self.begin.server)
        result.allocations = AllocationCounts(path: self.allocationsPath) - self.begin.allocations
        result.pushes = self.answeredCount - self.measuredFrom
        result.peakByteCount = self.own.residentPeakByteCount
        let open = self.transport.counters(route: 0).connectionsOpen
        self.driver?.close()
        self.driver = nil
        guard self.refusedCount == 0, open == self.connections else {
            let text = "\(self.refusedCount) pushes were not accepted, \(open) of \(self.connections) connections open"
            return self.finished.fail(BenchmarkFailure(text))
        }
        self.finished.succeed(result)
    }
}
