import Foundation

/// A simulated APNs, as a process: in its cheapest mode, or with phones, faults of single requests and a journal.
final class Sink {
    let process: ChildProcess
    let port: Int
    let controlPort: Int
    /// Where it can be asked about channels; `nil`: nowhere.
    let managementPort: Int?
    /// Directory with `ca.pem` and the provider key.
    let credentials: String

    static let keyID = "SIMULATOR1"
    static let teamID = "SIMULATEAM"

    /// What it knows of the pushes it gets.
    enum Mode {
        /// Framing and headers.
        case sink
        /// Everything; each token has a phone. It takes several times the CPU.
        case full
        /// Refuses, and takes a connection down to one stream from a refusal until the next push that it accepts.
        case collapsing
        /// Accepts, and writes each push to a file.
        case journal(path: String)

        fileprivate var words: [String] {
            switch self {
            case .sink: ["--sink"]
            case .full: []
            case .collapsing: ["--collapse-on-rejection"]
            case .journal(let path): ["--journal", path]
            }
        }
    }

    init(_ bench: Bench, mode: Mode = .sink, takesQuestions: Bool = false) throws {
        self.port = try LocalHTTP.freePort()
        self.controlPort = try LocalHTTP.freePort()
        self.managementPort = takesQuestions ? try LocalHTTP.freePort() : nil
        self.credentials = bench.scratch + "/apns"
        let management = self.managementPort.map { ["--manage-port", "\($0)"] } ?? []
        self.process = try ChildProcess(
            "simulated APNs",
            [
                bench.mailboat, "apns-simulator", "--port", "\(self.port)", "--control",
                "\(self.controlPort)", "--generate-credentials", self.credentials,
            ] + mode.words + management, core: bench.cores.server, logPath: bench.logPath("apns"))
        let (process, controlPort) = (self.process, self.controlPort)
        try Waiting.until("the simulated APNs", limitSeconds: 30, process: process) {
            LocalHTTP.get(port: controlPort, "/healthz") != nil
        }
    }

    func stop() { self.process.stop() }

    var authorityFile: String { self.credentials + "/ca.pem" }
    var keyFile: String { self.credentials + "/AuthKey_\(Self.keyID).p8" }

    /// A provider token, for a client that cannot sign one.
    func providerToken() throws -> String {
        guard let token = LocalHTTP.get(port: self.controlPort, "/provider-token") else {
            throw BenchmarkFailure("the simulated APNs gives no provider token")
        }
        return token.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Pushes answered so far; -1: it does not say.
    var answeredCount: Int {
        struct Statistics: Decodable { var accepted: Int }
        guard let text = LocalHTTP.get(port: self.controlPort, "/stats"),
            let statistics = try? JSONDecoder().decode(Statistics.self, from: Data(text.utf8))
        else { return -1 }
        return statistics.accepted
    }

    /// Makes channels that keep nothing. The sink must take questions.
    /// - Returns: their ids.
    func makeChannels(_ count: Int) throws -> [[UInt8]] {
        struct Channel: Decodable { var id: String }
        let document = "{\"app\": \"\(SampleRequest.bundleID)\", \"message-storage-policy\": 0}"
        return try (0..<count).map { _ in
            guard let text = LocalHTTP.post(port: self.controlPort, "/channels", document),
                let channel = try? JSONDecoder().decode(Channel.self, from: Data(text.utf8))
            else { throw BenchmarkFailure("the simulated APNs makes no channel") }
            return Array(channel.id.utf8)
        }
    }

    /// Answers a share of pushes like this from now on, drawn at random. Not in the cheapest mode.
    func refuse(percent: Double, status: Int, reason: String, timestampMillis: Int64? = nil) throws {
        let timestamp = timestampMillis.map { ", \"timestampMillis\": \($0)" } ?? ""
        let document =
            "{\"kind\": \"answer\", \"rate\": \(percent / 100), \"status\": \(status), \"reason\": \"\(reason)\"\(timestamp)}"
        guard LocalHTTP.post(port: self.controlPort, "/faults", document) != nil else {
            throw BenchmarkFailure("the simulated APNs does not take the fault \(document)")
        }
    }

    /// All is well again.
    func clearFaults() throws {
        guard LocalHTTP.delete(port: self.controlPort, "/faults") != nil else {
            throw BenchmarkFailure("the simulated APNs does not clear its faults")
        }
    }

    /// Answers wait so long from now on.
    func setLatency(millis: Int) throws {
        let document = "{\"kind\": \"latency\", \"millis\": \(millis)}"
        guard LocalHTTP.post(port: self.controlPort, "/faults", document) != nil else {
            throw BenchmarkFailure("the simulated APNs does not take the latency of \(millis) ms")
        }
    }
}

/// Waiting for other processes.
enum Waiting {
    /// Looks until `condition` is true.
    /// - Throws: past the limit, or when `process` ends meanwhile.
    static func until(
        _ what: String, limitSeconds: Int, process: ChildProcess, everyMillis: Int = 20, _ condition: () -> Bool
    ) throws {
        let deadline = Clock.nowMicros + Int64(limitSeconds) * 1_000_000
        while !condition() {
            try process.checkRunning()
            guard Clock.nowMicros < deadline else {
                throw BenchmarkFailure("waited \(limitSeconds) s in vain for \(what): \(process.lastLines)")
            }
            Clock.sleep(millis: everyMillis)
        }
    }
}
