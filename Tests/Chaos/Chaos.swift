import ArgumentParser
import ChaosTesting
import ChildProcesses
import CommandSupport
import Foundation
import KafkaLog
import TLSSession
import TraceCollecting

/// The command `chaos`. It kills, pauses and cuts off workers, and judges every phone afterwards.
@main
struct Chaos: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chaos",
        abstract: "Kills workers and takes brokers away while events flow, then checks every phone and every event.",
        discussion: """
            Starts an embedded Kafka, a simulated APNs and three workers, each a process of 'mailboat', publishes events of every kind for thousands \
            of activities, for broadcast channels and for audiences of thousands of phones, and injects faults drawn from a seed: kill -9, SIGSTOP past the group's session timeout, SIGTERM; restarts, GOAWAYs, \
            errors, silence and lost answers of APNs; broker outages, refused requests and slow brokers; records that Kafka refuses for good, and, on a \
            real Kafka, a topic that gets more partitions and one that is made anew.

            Then the faults end. When everything has settled, every phone is compared with one that got every event of the log on its own and in \
            order; every record must have an outcome, every dead letter an outcome, every partition be committed to its end; no phone may have got \
            more high-priority pushes than its budget. The same seed gives the same events and the same faults; when they meet is up to the machine.

            One event in 16 is for a broadcast channel. Half of the channels keep their newest message. Phones listen to them, go away and come back; \
            one channel is deleted about the middle, and some end before the run does. Each phone that listens must show what its channel promises: \
            all of it when it was always there, and otherwise what the channel kept for it. Broadcasts must keep their distance, bring newer stamps, \
            and be kept where the channel keeps anything.

            Audiences fill with phones, which come, leave, get other tokens, go over to another audience or die while their audience's events go \
            round; half of the audiences end about the middle, and others begin. Each phone that is a member at the end must show the newest state, \
            or the end, and must have had the newest alert that came after its join; no phone may be pushed to twice within a second, and the \
            workers' counters must add up for members as for events.

            Channels are kept for the audiences of one of the two apps: phones begin to listen and say so, and some stop. They are judged as the others \
            are; without faults no phone may get the same both ways but when it begins or stops.

            Six more audiences have push-to-start tokens. Starts put up cards on their phones; four audiences are started a second time after their end. \
            No phone may get two cards of one start. Whoever was in an audience all the time must have its card, or be counted as unknown, called off \
            by an end, or held back by start.per-hour; what the workers say of a start must agree with the cards.

            While Kafka refuses records for good (kafkaRefuses), a partition may halt whose state is refused, or an event that neither 'routed' nor \
            'dead-letters' takes; its worker is started again afterwards. A misplaced event that 'routed' does not take may be a dead letter, a bad \
            record's dead letter may shrink or be given up, and an outcome need not be there; workers have to count what is missing. On a real Kafka \
            limits of topics are lowered, or a topic is compacted and takes no record without a key; the embedded one refuses records of \
            'dead-letters' or 'state' as they come.

            About the middle 'events' gets one or two partitions more (topicGrown; a real Kafka only), and in some runs 'routed' or 'state' one. Events \
            then go by the new count, but those of activities under way only to a partition that was added. All is judged as before; with no other kind \
            of fault, no worker may end or be unready.

            At the very end 'events' or 'state', by the seed, is deleted and made anew under running workers (topicMadeAnew; a real Kafka only). Its \
            partitions must halt, be named by /readyz, and neither push nor commit. Then 'state accept-empty' and 'offsets reset' must lead on.

            Of the events some are traced (--traces). A collector must be able to read every span; spans lie within their parents, passes add up, and \
            none holds a device token. Without faults they say what the outcomes say, and none is missing.

            The embedded Kafka keeps 5 MiB a partition: the rate is chosen for that, and the run ends with an error if records were dropped.

            Exit status: 0 when every promise was kept, 1 when one was broken or the run could not be judged, 64 when the command line is wrong.

            EXAMPLES
              make chaos MINUTES=10 SUMMARY=chaos.json
              make chaos ARGS="--faults workerKilled,workerPausedPastSession --seed 7"
              make chaos MINUTES=5 BOOTSTRAP=localhost:9092
              make chaos BOOTSTRAP=broker:9093 ARGS="--properties client.properties"
            """)

    @Option(help: ArgumentHelp("How long events are published and faults injected, 0.1 to 600.", valueName: "minutes"))
    var minutes = 2.0

    @Option(
        help: ArgumentHelp(
            "The 'mailboat' executable to run; the one beside this executable when not given.", valueName: "path"))
    var mailboat: String?

    @Option(
        help: ArgumentHelp(
            "Another release's 'mailboat', to go up and back between the two: workers run it during the first quarter and the third one, the other during the second and from then on; they change one after the other. Without kafkaRefuses, topicGrown and topicMadeAnew, which former releases do not live through.",
            valueName: "path"))
    var former: String?

    @Option(help: "Seed of events and faults; drawn and printed when it is not given.")
    var seed: UInt64?

    @Option(help: ArgumentHelp("Write the numbers to this file as JSON.", valueName: "file"))
    var summary: String?

    @OptionGroup(title: "A real Kafka instead of an embedded one; topics of the run's own are created there and stay")
    var cluster: ClusterOptions

    @Option(help: "Workers, 1 to 16.")
    var workers = 3

    @Option(help: "Activities under way at a time, 10 to 100000.")
    var activities = 3_000

    @Option(help: "Broadcast channels, 0 to 64; one event in 16 is for a channel.")
    var channels = 8

    @Option(help: "Audiences at a time, 0 to 64; their events and members come beside the --rate.")
    var audiences = 4

    @Option(help: "Phones of all audiences together, 0 to 200000.")
    var members = 6_000

    @Option(help: "Push-to-start tokens in six audiences of their own, all together, 0 to 200000.")
    var startMembers = 4_000

    @Option(
        help: ArgumentHelp(
            "Events per second; chosen for the embedded Kafka's bound when not given.", valueName: "events"))
    var rate: Int?

    @Option(
        help: ArgumentHelp(
            "Percent of the events that workers trace, 0 to 100; those of --former trace none.",
            valueName: "percent"))
    var traces = 2.0

    @Option(
        help: ArgumentHelp("Only these kinds of faults, separated by commas; 'none': no faults.", valueName: "kinds"))
    var faults: String?

    @Flag(
        help:
            "Instead of faults, restart each worker once in good order while events flow, and say how long activities waited for their next push; within --minutes."
    )
    var rollingRestart = false

    @Flag(help: "Keep what the processes wrote, also after a success.")
    var keepLogs = false

    /// Number of events from which the default rate is computed. The 64 partitions of the embedded Kafka easily hold
    /// these events and their state records.
    private static let embeddedEventsMax = 240_000.0
    private static let rateMax = 400

    static func main() async {
        StandardStreams.prepare()
        TLSLibrary.outliveExit()
        await Self.runToEnd()
    }

    func validate() throws {
        guard (0.1...600).contains(self.minutes) else {
            throw ValidationError("--minutes is \(self.minutes): expected 0.1 to 600")
        }
        guard (1...16).contains(self.workers) else {
            throw ValidationError("--workers is \(self.workers): expected 1 to 16")
        }
        guard (10...100_000).contains(self.activities) else {
            throw ValidationError("--activities is \(self.activities): expected 10 to 100000")
        }
        guard (0...64).contains(self.channels) else {
            throw ValidationError("--channels is \(self.channels): expected 0 to 64")
        }
        guard (0...64).contains(self.audiences) else {
            throw ValidationError("--audiences is \(self.audiences): expected 0 to 64")
        }
        guard (0...200_000).contains(self.members) else {
            throw ValidationError("--members is \(self.members): expected 0 to 200000")
        }
        guard (0...200_000).contains(self.startMembers) else {
            throw ValidationError("--start-members is \(self.startMembers): expected 0 to 200000")
        }
        if let rate = self.rate, !(1...10_000).contains(rate) {
            throw ValidationError("--rate is \(rate): expected 1 to 10000 events per second")
        }
        guard (0...100).contains(self.traces) else {
            throw ValidationError("--traces is \(self.traces): expected 0 to 100")
        }
        guard self.former == nil || !self.rollingRestart else {
            throw ValidationError("--former and --rolling-restart are given: expected one of them")
        }
        _ = try self.kinds()
    }

    func run() async throws {
        if let summary { try SummaryFile.check(summary) }
        let mailboat = try Self.executable(self.mailboat, option: "--mailboat")
        let former = try self.former.map { try Self.executable($0, option: "--former") }
        let seed = self.seed ?? UInt64.random(in: 1...999_999)
        let say: (String) -> Void = { StandardOutput.show($0 + "\n") }
        let rate = self.rate ?? max(1, min(Self.rateMax, Int(Self.embeddedEventsMax / (self.minutes * 60))))
        say("chaos: seed \(seed), \(self.minutes) minutes, \(rate) events per second, \(self.workers) workers")
        let tracing: ChaosStage.Tracing? =
            self.traces > 0
            ? .init(collector: try await TraceCollector.start(), sampleRatio: self.traces / 100) : nil
        let stage = try await ChaosStage(
            mailboat: mailboat, former: former,
            real: self.cluster.isGiven ? try self.cluster.settings(for: .consumer) : nil,
            workerCount: self.workers, tracing: tracing,
            spreadsLeaders: !self.rollingRestart && (try self.kinds().contains(.kafkaRefuses)), seed: seed)
        let result: Result<ChaosVerdict, any Error>
        do {
            let run = try await ChaosRun(
                stage: stage,
                wish: .init(
                    minutes: self.minutes, seed: seed, activityCount: self.activities, rate: rate,
                    channelCount: self.channels, audienceCount: self.audiences, memberCount: self.members,
                    startMemberCount: self.startMembers,
                    kinds: self.rollingRestart ? [] : try self.kinds(),
                    isRollingRestart: self.rollingRestart,
                    former: former.map { .init(executable: $0, current: mailboat) }),
                say: say)
            try await run.play()
            result = .success(try await run.judge())
        } catch { result = .failure(error) }
        let isGood = (try? result.get().faults.isEmpty) == true
        stage.strike(keepsLogs: self.keepLogs || !isGood)
        await tracing?.collector.stop()
        if self.keepLogs || !isGood { say("Logs of the processes: \(stage.directory)") }
        try self.show(try result.get(), seed: seed, say: say)
    }

    /// Finds an executable.
    /// - Parameter path: path of the executable, or `nil` for the one beside this executable.
    private static func executable(_ path: String?, option: String) throws -> URL {
        let url = path.map { URL(fileURLWithPath: $0) } ?? BuiltExecutable.besideThisOne("mailboat")
        guard FileManager.default.isExecutableFile(atPath: url.path) else {
            throw CommandFailure(
                "\(url.path) is no executable: build it by 'swift build --product mailboat', or name another by \(option)"
            )
        }
        return url
    }

    private func kinds() throws -> [ChaosFault.Kind] {
        let all = ChaosFault.Kind.allCases.filter {
            !(self.cluster.isGiven ? $0.needsEmbeddedKafka : $0.needsRealKafka)
                && (self.former == nil || !$0.needsPresentRelease)
        }
        guard let names = self.faults else { return all }
        if names == "none" { return [] }
        return try names.split(separator: ",").map { name in
            guard let kind = all.first(where: { $0.rawValue == name }) else {
                throw ValidationError(
                    "--faults names '\(name)': expected some of \(all.map(\.rawValue).joined(separator: ", ")), or none"
                )
            }
            return kind
        }
    }

    private func show(_ verdict: ChaosVerdict, seed: UInt64, say: (String) -> Void) throws {
        say("")
        for line in verdict.summary.lines + verdict.remarks { say(line) }
        for fault in verdict.faults.prefix(20) { say("BROKEN  \(fault)") }
        if verdict.faults.count > 20 { say("BROKEN  … and \(verdict.faults.count - 20) more") }
        if verdict.faults.isEmpty { say("Every promise was kept.") }
        say("chaos: seed \(seed)")
        if let path = self.summary { try verdict.summary.write(to: path) }
        guard verdict.faults.isEmpty else { throw ExitCode.failure }
    }
}
