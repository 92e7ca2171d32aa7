import Foundation

/// The process of a simulated APNs. It runs in its cheapest mode, or with phones and faults of single requests.
final class Sink {
    let process: ChildProcess
    let port: Int
    let controlPort: Int
    /// Directory with `ca.pem` and the provider key.
    let credentials: String

    static let keyID = "SIMULATOR1"
    static let teamID = "SIMULATEAM"

    /// What the simulated APNs does with the pushes it gets.
    enum Mode {
        /// Reads framing and headers.
        case sink
        /// Reads everything, and keeps a phone for each token. This takes several times the CPU of `sink`.
        case full
        /// Refuses some pushes. A refusal lowers its connection to one stream until the next accepted push.
        case collapsing

        fileprivate var words: [String] {
            switch self {
            case .sink: ["--sink"]
            case .full: []
            case .collapsing: ["--collapse-on-rejection"]
            }
        }
    }

    init(_ bench: Bench, mode: Mode = .sink) throws {
        self.port = try LocalHTTP.freePort()
        self.controlPort = try LocalHTTP.freePort()
        self.credentials = bench.scratch + "/apns"
        self.process = try ChildProcess(
            "simulated APNs",
            [
                bench.mailboat, "apns-simulator", "--port", "\(self.port)", "--control",
                "\(self.controlPort)", "--generate-credentials", self.credentials,
            ] + mode.words, core: bench.cores.server, logPath: bench.logPath("apns"))
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

    /// Number of pushes that the simulated APNs has accepted so far. -1 when it does not say.
    var answeredCount: Int {
        struct Statistics: Decodable { var accepted: Int }
        guard let text = LocalHTTP.get(port: self.controlPort, "/stats"),
            let statistics = try? JSONDecoder().decode(Statistics.self, from: Data(text.utf8))
        else { return -1 }
        return statistics.accepted
    }

    /// Answers a share of pushes with this refusal from now on, drawn at random. The cheapest mode cannot do that.
    func refuse(percent: Double, status: Int, reason: String, timestampMillis: Int64? = nil) throws {
        let timestamp = timestampMillis.map { ", \"timestampMillis\": \($0)" } ?? ""
        let document =
            "{\"kind\": \"answer\", \"rate\": \(percent / 100), \"status\": \(status), \"reason\": \"\(reason)\"\(timestamp)}"
        guard LocalHTTP.post(port: self.controlPort, "/faults", document) != nil else {
            throw BenchmarkFailure("the simulated APNs does not take the fault \(document)")
        }
    }

    /// Ends all faults.
    func clearFaults() throws {
        guard LocalHTTP.delete(port: self.controlPort, "/faults") != nil else {
            throw BenchmarkFailure("the simulated APNs does not clear its faults")
        }
    }

    /// Delays each answer by this time from now on.
    func setLatency(millis: Int) throws {
        let document = "{\"kind\": \"latency\", \"millis\": \(millis)}"
        guard LocalHTTP.post(port: self.controlPort, "/faults", document) != nil else {
            throw BenchmarkFailure("the simulated APNs does not take the latency of \(millis) ms")
        }
    }
}

/// Waits for other processes.
enum Waiting {
    /// Looks again and again until `condition` is true.
    /// - Throws: when the limit is over, or `process` ends meanwhile.
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
