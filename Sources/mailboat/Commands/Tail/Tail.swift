import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushModel
import PushWorker
import Redaction
import Synchronization
import UnixSignals

/// `mailboat tail`.
struct Tail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follow the outcomes: what becomes of events, a line each.",
        discussion: """
            Reads all partitions of the outcomes topic without joining a group, from now on or from --since on, until it is interrupted or \
            nobody reads it any more. What lies in the log already comes in the order of time; later, what comes together is sorted by time. Within a \
            partition the order is that of the log.

            A line has the time (UTC), the outcome, app and activity (audience, channel), why, the event's own id and its position. Of an audience's \
            version it has how many members there were, what became of them (counts of 0 are left out), and how many got it by broadcast \
            ('listening'). Outcomes are coloured on a \
            terminal, unless NO_COLOR is set. A worker writes 'applied' and 'superseded' with outcomes.publish: all alone.

            With --format json each line is an object with partition, offset, writtenMillis, and the record as it is in 'record'.

            Exit status: 0 when it was interrupted (SIGINT, SIGTERM) or, with --no-follow, is through; 1 when the cluster cannot be asked or \
            the reader has gone, 64 when the command line is wrong.

            EXAMPLES
              mailboat tail --config mailboat.yaml
              mailboat tail --bootstrap localhost:9092 --key order-7 --since 10m
              mailboat tail --config mailboat.yaml --outcome rejected \\
                --outcome dead-lettered --format json | jq .record.reason
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

    @OptionGroup var kafka: KafkaOptions

    @Option(
        name: .customLong("topic"),
        help: ArgumentHelp(
            "The outcomes topic. Default: that of --config, or a worker's own default.", valueName: "topic"),
        form: .topic)
    var givenTopic: String?

    @Option(
        help: ArgumentHelp(
            "Only outcomes of this app. Of a record that could not be understood nobody knows the app: it is left out.",
            valueName: "bundle id"), form: .bundleID)
    var app: String?

    @Option(help: ArgumentHelp("Only outcomes of events with this key.", valueName: "id"))
    var key: String?

    @Option(
        name: .customLong("outcome"), help: ArgumentHelp("Only this outcome. May be repeated.", valueName: "outcome"),
        completion: .list(Self.names))
    var outcomes: [String] = []

    @Option(
        help: ArgumentHelp(
            "Begin there: seconds since 1970, or so long ago, such as 30m, 2h or 7d. Default: now.", valueName: "time"))
    var since: String?

    @Flag(inversion: .prefixedNo, help: "Wait for what comes. --no-follow: end where the logs end now.")
    var follow = true

    @Option(help: "Lines for a person, or one JSON object a line.")
    var format = Format.text

    /// What a record may be: the outcome of an event, or what it tells of many members or of channels.
    private static let names =
        Outcome.allCases.map { "\($0.name)" }
        + ["pass", "audience", "start-pass", "channel-opened", "channel-closed", "channel-refused"]

    func validate() throws {
        if let since { _ = try SinceText.millis(since, nowMillis: 0) }
        for outcome in self.outcomes where !Self.names.contains(outcome) {
            let near = NearSpelling.of(outcome, among: Self.names).map { "; did you mean \($0)?" }
            throw ValidationError(
                "--outcome is \(ShownText.closed(outcome))"
                    + (near ?? ": expected one of \(Self.names.joined(separator: ", "))"))
        }
    }

    func run() async throws {
        let command = self
        let isInterrupted = Interruption()
        let signals = Task {
            for await _ in await UnixSignalsSequence(trapping: .sigint, .sigterm) { isInterrupted.set() }
        }
        defer { signals.cancel() }
        try await NamedThread.run("tail") {
            Result { try command.follow(isOver: { isInterrupted.isSet }, show: command.shower()) }
        }.get()
        StandardOutput.flush()
        try StandardOutput.check()
    }

    /// Follows the outcomes. Blocks until it is over.
    func follow(isOver: () -> Bool, show: (OutcomeLine, OwnedRecord) -> Void) throws {
        let topic = try self.givenTopic ?? self.kafka.cluster.configuration().topics.outcomes
        let count = try self.kafka.partitionCount(of: topic)
        // Records of one key are in one partition.
        let partitions =
            self.key.map { [Murmur2.partition(key: Array($0.utf8).span, count: count)] } ?? Array(0..<count)
        let sinceMillis = try self.since.map {
            try SinceText.millis($0, nowMillis: Int64(Date().timeIntervalSince1970 * 1_000))
        }
        var vain = ReadInVain()
        var isShown = false
        let filter = TailFilter(
            app: self.app, key: self.key, outcomes: Set(self.outcomes), sinceMillis: sinceMillis)
        try OutcomeFollower(self.kafka, topic: topic, partitions: partitions).run(
            sinceMillis: sinceMillis, follows: self.follow, isOver: isOver,
            whenIdle: {
                // Write everything before waiting for the next outcome. This also shows when the reader has gone.
                StandardOutput.flush()
                try StandardOutput.check()
                if !StandardOutput.hasReader { throw ExitCode.failure }
            }
        ) { record in
            guard let line = filter.take(record, vain: &vain) else { return }
            isShown = true
            show(line, record)
            try StandardOutput.check()
        }
        guard !isShown, !self.follow else { return }
        StandardError.print(
            sinceMillis == nil
                ? "nothing was read: without --since it begins where the logs end"
                : vain.sentence(asked: filter.asked, in: topic))
    }

    private func shower() -> (OutcomeLine, OwnedRecord) -> Void {
        let isColoured = TailText.isColoured(
            isTerminal: isatty(STDOUT_FILENO) == 1, environment: ProcessInfo.processInfo.environment)
        let isJSON = self.format == .json
        return { line, record in
            if isJSON { return StandardOutput.tell(TailText.json(record)) }
            StandardOutput.showLine(TailText.line(line, record, isColoured: isColoured))
        }
    }

    /// Notes that a signal arrived.
    private final class Interruption: Sendable {
        private let flag = Atomic(false)
        var isSet: Bool { self.flag.load(ordering: .relaxed) }
        func set() { self.flag.store(true, ordering: .relaxed) }
    }
}
