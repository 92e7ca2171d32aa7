import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import PushModel
import Redaction

/// `mailboat explain`.
struct Explain: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Say why a phone does not change: what happened to an activity's newest event.",
        discussion: """
            Reads the newest records of one key (the id of an activity, a channel or an audience) from the input topics, state, outcomes and \
            dead letters, and the positions of the workers. Prints one sentence about how far the newest event has got (if it is a dead \
            letter, also one about the newest valid event), then the records that show it, with their positions, then what to do. Joins no group, changes nothing, and shows no token.

            Only the key's partition of each topic is read, backwards from its end, until the newest records are found or --depth records \
            were read; the lines 'read' say how far. For an audience, 'state' is read further to see whether it is paused. With --config, \
            topics, group and budgets are those of the workers. An audience's event is followed until it is handed to the members, which get \
            pushes of their own: 'mailboat state dump --audience ID' shows them.

            With --format json: one object with 'verdict' (cause, sentence, next) and 'facts'. 'cause' is one of \
            \(ExplainVerdict.Cause.allCases.map(\.rawValue).joined(separator: ", ")).

            Exit status: 0 when there is an answer, 1 when the cluster cannot be asked, 64 when the command line is wrong.

            EXAMPLES
              mailboat explain order-7 --config mailboat.yaml
              mailboat explain order-7 --bootstrap localhost:9092 --format json
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

    @Argument(help: "The events' key: the id of the activity, the channel or the audience.")
    var key: String

    @OptionGroup var kafka: KafkaOptions

    @Option(help: ArgumentHelp("Only events of this app. Default: of any.", valueName: "bundle id"), form: .bundleID)
    var app: String?

    @Option(help: "The consumer group. Default: that of --config, or a worker's own default.")
    var group: String?

    @Option(
        help: ArgumentHelp("How many events, outcomes and dead letters are shown at most.", valueName: "number"),
        form: .whole(1...1_000))
    var outcomes = 5

    @Option(
        help: ArgumentHelp("How many records of a partition are read at most.", valueName: "records"),
        form: .whole(1...100_000_000))
    var depth = 100_000

    @Option(help: "Lines for a person, or one JSON object.")
    var format = Format.text

    func validate() throws {
        let bytes = Array(self.key.utf8)
        do throws(EventRejection) { try EventRules.checkKey(bytes.span) } catch {
            throw ValidationError("the key, \(ShownText.name(self.key)), \(error.reason)")
        }
    }

    func run() async throws {
        let command = self
        try await NamedThread.run("explain") { Result { try command.explain() } }.get()
    }

    /// Prints the report. Blocks.
    private func explain() throws {
        let status = StatusLine()
        defer { status.end() }
        let report = try self.report { status.show($0) }
        status.end()
        for line in self.format == .json ? [report.json] : report.lines { StandardOutput.print(line) }
    }

    /// Asks the cluster, and decides. Blocks.
    /// - Parameter progress: receives what is being read.
    func report(progress: @escaping (String) -> Void) throws -> ExplainReport {
        let reading = ExplainReading(
            kafka: self.kafka, key: Array(self.key.utf8), app: self.app, group: self.group, outcomeCount: self.outcomes,
            recordCountMax: self.depth, nowMillis: Int64(Date().timeIntervalSince1970 * 1_000), progress: progress)
        return ExplainReport(try reading.facts(), shownMax: self.outcomes)
    }
}
