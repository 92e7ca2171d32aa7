import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushEngine
import PushModel
import PushWorker
import Redaction
import Synchronization
import UnixSignals

/// `mailboat tail`.
struct Tail: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Follow the outcomes of events, one on each line.",
        discussion: """
            Reads all partitions of the outcomes topic without joining a group, from now on or from --since on, until it is interrupted or \
            its output is no longer read. Records already in the log are shown in the order of time; later, records that arrive together \
            are sorted by time. Within a partition the order is that of the log.

            A line has the time (UTC), the outcome, app and activity (audience, channel), why, the event's own id and its position. For an \
            audience's version it has the number of members, the results for them (counts of 0 are left out), and the number that got it by \
            broadcast ('listening'). On a terminal, outcomes are coloured unless NO_COLOR is set. Outcomes in a row that are alike and of \
            one audience, such as 1,000 joins, are counted in one line there; in a file or a pipe each has its line. A worker writes \
            'applied' and 'superseded' only with outcomes.publish: all.

            It does not look into content-state: an update with a wrong date is 'delivered'. An event whose token has died gets its outcome \
            only after registration-wait. 'mailboat explain KEY' finds both at once. With --key of an audience, records about all its \
            members (pass, audience, start-pass) and its channel are shown, too, although they have keys of their own. Joins have the token \
            as their key, and members that APNs refused its hash: ask for these with --outcome.

            --event-id finds what became of an event when its key is not at hand: it looks in all partitions, back to --since.

            With --format json each line is an object with partition, offset, writtenMillis, and the unchanged record in 'record'.

            Exit status: 0 when it was interrupted (SIGINT, SIGTERM) or, with --no-follow, has finished; 1 when the cluster cannot be \
            asked or the reader has gone, 64 when the command line is wrong.

            EXAMPLES
              mailboat tail --config mailboat.yaml
              mailboat tail --bootstrap localhost:9092 --key order-7 --since 10m
              mailboat tail --bootstrap localhost:9092 --event-id order-7-ready \\
                --since 1d --no-follow
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
            "Only outcomes of this app. Records that could not be understood name no app, and are left out.",
            valueName: "bundle id"), form: .bundleID)
    var app: String?

    @Option(
        help: ArgumentHelp("Only outcomes of events with this key, and of the audience that has it.", valueName: "id"))
    var key: String?

    @Option(
        name: .customLong("event-id"),
        help: ArgumentHelp("Only outcomes of the event that its publisher gave this 'id'.", valueName: "id"))
    var eventID: String?

    @Option(
        name: .customLong("outcome"), help: ArgumentHelp("Only this outcome. May be repeated.", valueName: "outcome"),
        completion: .list(Self.names))
    var outcomes: [String] = []

    @Option(
        help: ArgumentHelp(
            "Where to begin: seconds since 1970, or a time ago such as 30m, 2h or 7d. Default: now.", valueName: "time")
    )
    var since: String?

    @Flag(inversion: .prefixedNo, help: "Wait for further outcomes. --no-follow: stop at the current ends of the logs.")
    var follow = true

    @Option(help: "Lines for a person, or one JSON object a line.")
    var format = Format.text

    /// Names of outcomes of events, and names of records about many members or about channels.
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
            var screen = command.screen()
            return Result {
                defer { screen.settle() }
                try command.follow(
                    isOver: { isInterrupted.isSet }, whenRead: { screen.settle() }, whenIdle: { screen.tick() },
                    show: { screen.show($0, $1) })
            }
        }.get()
        StandardOutput.flush()
        try StandardOutput.check()
    }

    /// Follows the outcomes. Blocks until `isOver` says so or, without `--follow`, until all are read.
    /// - Parameters:
    ///   - whenRead: called once, when everything that was in the log has been read.
    ///   - whenIdle: called when there was nothing new.
    func follow(
        isOver: () -> Bool, whenRead: () -> Void = {}, whenIdle: () -> Void = {},
        show: (OutcomeLine, OwnedRecord) -> Void
    ) throws {
        let configuration = try self.kafka.cluster.configuration()
        let topic = self.givenTopic ?? configuration.topics.outcomes
        let publication =
            self.kafka.cluster.settingsFile == nil ? nil : configuration.engine.outcomePublication
        let count = try self.kafka.partitionCount(of: topic)
        // Records of one key are in one partition. Records about an audience have other keys, too.
        let partitions =
            self.key.map { [Murmur2.partition(key: Array($0.utf8).span, count: count)] } ?? Array(0..<count)
        let others = (0..<count).filter { !partitions.contains($0) }
        let nowMillis = Int64(Date().timeIntervalSince1970 * 1_000)
        let sinceMillis = try self.since.map { try SinceText.millis($0, nowMillis: nowMillis) }
        var vain = ReadInVain()
        var isShown = false
        let filter = TailFilter(
            app: self.app, key: self.key, eventID: self.eventID, outcomes: Set(self.outcomes), sinceMillis: sinceMillis)
        // A silent command looks stuck, so tell a person at a terminal what it waits for. A program needs no such line.
        let isWatched = isatty(STDERR_FILENO) == 1
        var isAudience = false
        let ownSource =
            partitions.count == 1 && count > 1 ? "\(topic)[\(partitions[0])], where the key belongs," : topic
        try OutcomeFollower(self.kafka, topic: topic, partitions: partitions, otherPartitions: others).run(
            sinceMillis: sinceMillis, follows: self.follow, isOver: isOver,
            callsForOthers: { record in
                isAudience = filter.showsAudience(record)
                return isAudience
            },
            whenRead: {
                whenRead()
                if !isShown, let sinceMillis {
                    let since = MomentText.moment(millis: sinceMillis, nowMillis: nowMillis)
                    let lines = TailAdvice.lines(
                        filter, publication, vain, in: isAudience ? topic : ownSource, since: since,
                        command: self.kafka.cluster.command)
                    for line in lines { StandardError.print(line) }
                }
                if self.follow, isWatched { StandardError.print("waiting for what comes to \(topic); Ctrl-C ends") }
            },
            whenIdle: {
                whenIdle()
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
        if !self.follow, sinceMillis == nil {
            StandardError.print("nothing was read: without --since it begins at the ends of the logs")
        }
    }

    private func screen() -> Screen {
        guard self.format == .text else { return .program }
        let isTerminal = isatty(STDOUT_FILENO) == 1
        let isColoured = TailText.isColoured(
            isTerminal: isTerminal, environment: ProcessInfo.processInfo.environment)
        return isTerminal ? .terminal(TailFold(isColoured: isColoured)) : .file
    }

    /// Where outcomes are shown, and in which form.
    private enum Screen {
        case program, file
        case terminal(TailFold)

        mutating func show(_ line: OutcomeLine, _ record: OwnedRecord) {
            switch self {
            case .program: StandardOutput.printAlways(TailText.json(record))
            case .file: StandardOutput.showLine(TailText.line(line, record, isColoured: false))
            case .terminal: self.fold { $0.take(line, record, now: .now) }
            }
        }
        /// Shows a count that is old enough. Call it when nothing new has come.
        mutating func tick() { self.fold { $0.tick(now: .now) } }
        /// Shows the count, if there is one. Call it before something else is written.
        mutating func settle() { self.fold { $0.settle() } }

        private mutating func fold(_ lines: (inout TailFold) -> [String]) {
            guard case .terminal(var fold) = self else { return }
            for line in lines(&fold) { StandardOutput.showLine(line) }
            self = .terminal(fold)
        }
    }

    /// Remembers whether a signal has arrived.
    private final class Interruption: Sendable {
        private let flag = Atomic(false)
        var isSet: Bool { self.flag.load(ordering: .relaxed) }
        func set() { self.flag.store(true, ordering: .relaxed) }
    }
}
