import ArgumentParser
import CommandSupport
import DevPage
import Foundation
import PushModel
import PushWorker

/// `mailboat check`.
struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check events and print the APNs request each would become.",
        discussion: """
            Reads JSON values, one per line or written over several lines. Each is an event alone, as in a Kafka record's value:

              {"event": "update", "content-state": {"driverName": "Anne"}}

            or a record with its key:

              {"key": "order-7", "value": {"event": "register", "token": "80e0…"}}
              {"key": "80e0…", "value": {"event": "register", "audience": "match-7"}}

            An event for a channel ("to": {"channel": …}) is shown as the broadcast it would become, with the production host unless the \
            event names its environment; a worker uses the one in the app's configuration. An event for an audience ("to": {"audience": …}) \
            is shown as the push that each member would get, with the production host; a worker uses that of each member's environment. An \
            event that a worker would put on the dead-letter topic is shown with the reason it would get there. Nothing is sent, and only the \
            configuration's apps and their environments count: merging, budgets and the life of an activity are left out. Tokens are shown shortened. A warning \
            names values of a content-state, and of a start's attributes, that look like dates but that Swift's Date would read as another \
            time.

            With --format json each line is an object with line (where the event begins), verdict (taken or refused), reason, and as 'text' the \
            lines that a person sees. A taken event has its warnings as 'warnings', too.

            With --content-schema YourAttributes.swift, the names, types and dates of a content-state are judged by your app's type. An event \
            is refused, too, if the app could not decode it: a worker sends it, and the phone shows nothing. Warnings are then about the \
            type's dates. Without the option, names and types are not judged, and a warning goes by what the value and its name look like.

            Exit status: 0 when every event is good, 1 when one is refused or the file cannot be read, with --strict also when there is a \
            warning, 64 when the command line is wrong.

            EXAMPLES
              mailboat check events.ndjson
              mailboat check --app com.example.pizza - < event.json
              mailboat check --content-schema PizzaAttributes.swift events.ndjson
              mailboat check --config mailboat.yaml events.ndjson
              mailboat check --quiet --strict events.ndjson &&
                mailboat publish --bootstrap localhost:9092 events.ndjson
            """)

    @Argument(help: ArgumentHelp("The file to read; '-' is standard input.", valueName: "file"), completion: .file())
    var path = "-"

    @Option(
        help: ArgumentHelp(
            "The app of events that name none. Default: that of --config, or com.example.app.", valueName: "bundle id"),
        form: .bundleID)
    var app: String?

    @Option(
        help: ArgumentHelp(
            "A worker's configuration. Events of an app or an environment that it does not have are refused, and events without an app if there are several.",
            valueName: "file"), completion: .file())
    var config: String?

    @Option(
        help: ArgumentHelp(
            "The time to check against, instead of this machine's clock.", valueName: "seconds since 1970"),
        form: .whole(0...Self.nowSecondsMax, "seconds since 1970"))
    var now: Int64?

    @Option(
        help: ArgumentHelp(
            "What the app expects of a content-state: its Swift type, a JSON Schema or a sample, as for 'mailboat dev'.",
            valueName: "file"), completion: .file())
    var contentSchema: String?

    @Flag(name: .shortAndLong, help: "Show only refused events, and warnings on stderr.")
    var quiet = false

    @Flag(help: "Exit with 1 for warnings, too, as for refused events.")
    var strict = false

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

    @Option(help: "Text for a person, or one JSON object for each event.")
    var format = Format.text

    /// The last second of the year 9999. No clock is later, and sums of seconds do not overflow.
    private static let nowSecondsMax: Int64 = 253_402_300_799

    func run() throws {
        let input = try RecordInput(path: self.path)
        var check = try self.judge()
        var tally = Tally()
        try input.forEach { item in
            let report = Self.answer(to: item, check: &check)
            tally.count(report)
            switch report {
            case .taken(let line, let lines):
                if self.quiet {
                    for warning in report.warnings { StandardError.print("line \(line): \(warning)") }
                    return
                }
                if self.format == .json {
                    StandardOutput.print(report.json)
                } else {
                    for text in ["line \(line):"] + lines.map({ $0.isEmpty ? "" : "  \($0)" }) + [""] {
                        StandardOutput.print(text)
                    }
                }
            case .refused(let line, let reason):
                if self.format == .json { return StandardOutput.print(report.json) }
                StandardOutput.print("line \(line): refused: \(reason)")
                if !self.quiet { StandardOutput.print("") }
            }
        }
        StandardError.print("\(input.name): \(tally.text)")
        if !self.quiet, let hint = Self.schemaHint(check) { StandardError.print(hint) }
        if !tally.isGood(isStrict: self.strict) { throw ExitCode(1) }
    }

    /// Names the option that judges content by the app's type; `nil`: it was given, or no event has content.
    static func schemaHint(_ check: EventCheck) -> String? {
        guard check.schema == nil, check.contentCount > 0 else { return nil }
        return "names and types in content-state not judged: --content-schema YourAttributes.swift does that"
    }

    /// Counts of all events of the input.
    struct Tally {
        private var eventCount = 0
        private var refusedCount = 0
        private var warningCount = 0

        mutating func count(_ report: Report) {
            self.eventCount += 1
            if case .refused = report { self.refusedCount += 1 }
            self.warningCount += report.warnings.count
        }

        /// Whether the exit status is 0.
        /// - Parameter isStrict: whether a warning counts like a refused event.
        func isGood(isStrict: Bool) -> Bool { self.refusedCount == 0 && (!isStrict || self.warningCount == 0) }

        var text: String {
            "\(NumberText.count(self.eventCount, "event")), \(self.refusedCount) refused"
                + (self.warningCount == 0 ? "" : ", \(NumberText.count(self.warningCount, "warning"))")
        }
    }

    /// Creates the judge of the events. It knows the apps of `--config` and the schema of `--content-schema`, if given.
    func judge() throws -> EventCheck {
        let configuration = try self.config.map { try ClusterOptions.configuration($0) }
        let apps = configuration?.apps.map(\.bundleID)
        var check = EventCheck(
            app: self.app ?? apps?.first ?? "com.example.app",
            nowSeconds: self.now ?? Int64(Date().timeIntervalSince1970))
        check.apps = apps
        check.environments = configuration.map { ClusterOptions.environments(of: $0) }
        check.schema = try self.contentSchema.map { try GivenSchema.read($0).schema }
        return check
    }

    /// The result for one value of the input.
    enum Report: Equatable {
        case taken(line: Int, lines: [String])
        case refused(line: Int, reason: String)

        private struct Line: Encodable {
            var line: Int
            /// The verdict: `taken` or `refused`.
            var verdict: String
            /// The request that the value would become, as lines for a person.
            var text: [String]?
            var warnings: [String]?
            var reason: String?
        }

        /// Warnings among the request's lines. Each begins with `warning: `.
        var warnings: [String] {
            switch self {
            case .taken(_, let lines): EventCheck.warnings(in: lines)
            case .refused: []
            }
        }

        /// The result as one object on one line.
        var json: String {
            switch self {
            case .taken(let line, let lines):
                JSONLine.text(
                    Line(
                        line: line, verdict: "taken", text: lines,
                        warnings: self.warnings.map { String($0.dropFirst("warning: ".count)) }))
            case .refused(let line, let reason): JSONLine.text(Line(line: line, verdict: "refused", reason: reason))
            }
        }
    }

    static func answer(to item: JSONValueSplitter.Item, check: inout EventCheck) -> Report {
        switch item {
        case .fault(let line, let reason): return .refused(line: line, reason: "the text \(reason)")
        case .value(let line, let bytes):
            do throws(RecordText.Fault) {
                switch check.check(try RecordText(bytes)) {
                case .taken(let lines): return .taken(line: line, lines: lines)
                case .refused(let rejection):
                    return .refused(line: line, reason: "“\(rejection.field)” \(rejection.reason)")
                }
            } catch { return .refused(line: line, reason: error.reason) }
        }
    }
}
