import ArgumentParser
import CommandSupport
import DevPage
import Foundation
import Listening
import Logging
import PushWorker

/// `mailboat demo`: the whole path in one process, with a story to watch and a judge that looks at every phone
/// afterwards.
struct DemoCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "demo",
        abstract: "Play a story: real Kafka records become real HTTP/2 pushes to simulated phones.",
        discussion: """
            An embedded Kafka, a simulated APNs and a worker run in this process, over real sockets. They play pizza orders, a football \
            match and a game's party, with rotated and dead tokens, broken records and a GOAWAY. The fans of the match are one audience: a \
            goal is one record. Half of them listen to the match's channel and get it by one broadcast, the others by a push each. One goal \
            is cancelled before it has reached everybody. The end is broadcast again, and then the channel is deleted, after seconds instead \
            of hours. The demo ends by itself within 30 seconds. With --stay a page shows the phones during the story and afterwards, until \
            Ctrl-C.

            At the end every phone is compared with one that got every event on its own and in order. The exit status is 0 only if all show the \
            same, every event has its outcome, every fan is accounted for, nothing is pending and no budget was exceeded.
            """)

    @Option(help: ArgumentHelp("Write the numbers to this file as JSON.", valueName: "file"), completion: .file())
    var summary: String?

    @Option(
        help: ArgumentHelp(
            "How long the story takes, without the time to start and to judge.", valueName: "seconds"),
        form: .whole(10...20, "seconds"))
    var duration = 17

    @Option(help: ArgumentHelp("How many fans follow the match.", valueName: "count"), form: .whole(1...5_000))
    var fans = 2_000

    @Option(help: "Seed of the story's randomness: device tokens and small delays.", form: .whole(0...UInt64.max))
    var seed: UInt64 = 1

    @Flag(
        help:
            "Serve the page of 'mailboat dev' on loopback, and stay until Ctrl-C. After the story, the page accepts events."
    )
    var stay = false

    @Option(
        name: .customLong("port"),
        help: "Port of the page; 0 takes a free one. Only with --stay. Not given: \(DemoCommand.usualPort).",
        form: .listeningPort)
    var givenPort: Int?

    @Flag(help: "Write the worker's log to standard error.")
    var verbose = false

    private static let usualPort = 8484
    var port: Int { self.givenPort ?? Self.usualPort }

    func validate() throws {
        guard self.givenPort == nil || self.stay else {
            throw ValidationError("--port is that of a page, and only --stay serves one")
        }
    }

    func run() async throws {
        let began = ContinuousClock.now
        if let summary { try SummaryFile.check(summary) }
        var logger = Logger(label: "mailboat.demo", factory: { LogLines.handler(label: $0) })
        logger.logLevel = self.verbose ? .info : .critical
        Scoreboard.writeToStandardOutput("Starting an embedded Kafka, a simulated APNs and a worker …\n")
        try StandardOutput.check()
        let store = self.stay ? TimelineStore(app: "") : nil
        let stage = try await DemoStage(logger: logger, store: store)
        let result: Result<DemoVerdict?, any Error>
        do {
            if let store {
                result = .success(try await self.stay(on: stage, store: store, began: began, logger: logger))
            } else {
                result = .success(try await Self.perform(self.part, on: stage, began: began))
            }
        } catch {
            let fault = ListenFault(error, "--port", host: "127.0.0.1", port: self.port)
            result = .failure(fault.map { CommandFailure("\($0)") } ?? error)
        }
        let report = await stage.strike()
        guard var verdict = try result.get() else {
            throw CommandFailure("the story was cut short: nothing was judged")
        }
        if !report.isClean { verdict.faults.append("the worker did not stop cleanly: \(report.detail)") }
        // With --stay the report was printed as soon as it was known.
        if !self.stay || !report.isClean { Scoreboard.writeToStandardOutput(Self.text(verdict, began: began)) }
        if let path = self.summary { try verdict.summary.write(to: path) }
        guard verdict.faults.isEmpty else { throw ExitCode.failure }
    }

    /// How the options shape the story.
    struct Part: Sendable {
        var durationMillis: Int
        var fanCount: Int
        var seed: UInt64
    }

    var part: Part { Part(durationMillis: self.duration * 1_000, fanCount: self.fans, seed: self.seed) }

    static func perform(
        _ part: Part, on stage: DemoStage, began: ContinuousClock.Instant
    ) async throws -> DemoVerdict {
        var performance = try DemoPerformance(
            stage: stage, durationMillis: part.durationMillis, fanCount: part.fanCount, seed: part.seed, began: began)
        try await performance.play()
        return try await performance.judge()
    }

    static func text(_ verdict: DemoVerdict, began: ContinuousClock.Instant) -> String {
        let seconds = Double((ContinuousClock.now - began).wholeMillis) / 1_000
        var text = "\n" + verdict.summary.lines(seconds: seconds).joined(separator: "\n") + "\n"
        for fault in verdict.faults.prefix(20) { text += "FAULT  \(fault)\n" }
        if verdict.faults.count > 20 { text += "FAULT  … and \(verdict.faults.count - 20) more\n" }
        return text + (verdict.faults.isEmpty ? "Every phone shows what it should. Nothing was lost.\n" : "")
    }
}
