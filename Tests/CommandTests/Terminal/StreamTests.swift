import ChildProcesses
import Foundation
import Testing

/// Tests of the built executables with unusable files, streams and numbers. An executable must say what is wrong and
/// exit with a status. A trap ends in a signal, which fails the test.
@Suite(.timeLimit(.minutes(5)))
struct StreamTests {
    struct Case: Sendable, CustomTestStringConvertible {
        /// The shell line of the case. `$M` is `mailboat`, `$C` is `chaos`, and `$D` is a folder for this case alone.
        var line: String
        var status: Int32
        /// Text that standard error must contain.
        var says = ""
        /// Second text that standard error must contain, such as the name of an option or file.
        var names = ""
        /// Whether standard output is a pipe whose reader has gone.
        var hasNoReader = false
        var testDescription: String { self.line + (self.hasNoReader ? " | (gone)" : "") }
    }

    private static let event = #"{"event":"update","content-state":{}}"#
    private static let nobody = "--bootstrap 127.0.0.1:1 --timeout 1"
    private static let largest = "9223372036854775807"

    /// A command on a port that is taken already.
    private static func taken(_ words: String, _ setting: String) -> Case {
        Case(line: "$M \(words)", status: 1, says: "cannot be listened on: another process has it", names: setting)
    }

    static let cases: [Case] = [
        Case(line: "$M check /", status: 1, says: "/ cannot be read: Is a directory"),
        Case(line: "$M check < /", status: 1, says: "standard input cannot be read: Is a directory"),
        Case(line: "$M check <&-", status: 1, says: "standard input cannot be read: Bad file descriptor"),
        Case(line: "$M check $D/none", status: 1, says: "none cannot be read: No such file"),
        Case(line: "$M publish \(nobody) /", status: 1, says: "/ cannot be read: Is a directory"),
        Case(line: "$M publish \(nobody) <&-", status: 1),
        Case(line: "$M check /dev/null 2> /dev/full", status: 0),
        Case(line: "$M check /dev/null 2>&-", status: 0),
        Case(line: "$M check $D/none 2>&-", status: 1),
        Case(line: "echo '\(event)' | $M check > /dev/full", status: 1, says: "No space left on device"),
        Case(line: "echo '\(event)' | $M check >&-", status: 1, says: "Bad file descriptor"),
        Case(line: "echo '\(event)' | $M check", status: 1, hasNoReader: true),
        Case(line: "echo '\(event)' | $M check <&- >&- 2>&-", status: 1),
        Case(line: "$M --help", status: 1, hasNoReader: true),
        Case(line: "$M --help > /dev/full", status: 1, says: "No space left on device"),
        // `stdbuf` makes output buffered by line, as on a terminal. A failed write must be noticed, although the C
        // library forgets it after each line.
        Case(line: "stdbuf -oL $M --help > /dev/full", status: 1, says: "No space left on device"),
        Case(line: "stdbuf -o0 $M --version > /dev/full", status: 1, says: "No space left on device"),
        Case(line: "$M help run > /dev/full", status: 1, says: "No space left on device"),
        Case(line: "$M --generate-completion-script bash > /dev/full", status: 1, says: "No space left on device"),
        Case(line: "$M run --nonsense > /dev/full", status: 64, says: "--nonsense"),
        Case(line: "$M --version", status: 0),
        Case(line: "$M run --print-settings > /dev/full", status: 1, says: "No space left on device"),
        Case(line: "$M run --print-settings", status: 1, hasNoReader: true),
        Case(line: "$M demo", status: 1, hasNoReader: true),
        Case(line: "$M demo > /dev/full 2> /dev/full", status: 1),
        Case(line: "$C --minutes 0.1", status: 1, hasNoReader: true),
        Case(line: "$M topics check \(nobody) 2>&-", status: 1),
        Case(line: "$M state dump \(nobody) 2> /dev/full", status: 1),
        Case(line: "$M dead-letters list \(nobody) > /dev/full", status: 1),

        Case(line: "$M check --now \(largest) /dev/null", status: 64, says: "--now is \(largest): expected"),
        Case(line: "$M check --now -1 /dev/null", status: 64),
        Case(line: "echo '\(event)' | $M check --now 253402300799", status: 0),
        Case(line: #"echo '{"event":"end","timestamp":\#(largest)}' | $M check"#, status: 1),
        Case(
            line: #"echo '{"key":"a","value":{"event":"end"},"timestamp":253402300799999}' | $M check --now 0"#,
            status: 0),
        Case(line: "$M publish --bootstrap 127.0.0.1:1 --timeout \(largest) /dev/null", status: 64),
        Case(line: "$M dead-letters list \(nobody) --since \(largest)d", status: 64),
        Case(line: "$M dead-letters list \(nobody) --source-offsets 0-\(largest)", status: 1),
        Case(line: "$M dead-letters list \(nobody) --letter 2147483647:\(largest)", status: 1),
        Case(line: "$M topics create \(nobody) --partitions \(largest)", status: 64),
        Case(line: "$C --mailboat $D/none", status: 1, says: "none is no executable"),
        Case(line: "$M chaos", status: 64),
        Case(line: "$C --minutes nan", status: 64),
        Case(line: "$M demo --duration \(largest)", status: 64),
        Case(line: "$M apns-simulator --generate-credentials $D --latency \(largest)", status: 64),
        Case(line: "$M embedded-kafka --partitions \(largest)", status: 64),

        // The port is already taken. The message names the flag, the address and the remedy.
        Self.taken("dev --kafka-port 0 --port $P", "--host and --port: 127.0.0.1:"),
        Self.taken("dev --port 0 --kafka-port $P", "--kafka-port: 127.0.0.1:"),
        Self.taken("embedded-kafka --control 0 --port $P", "--host and --port: 127.0.0.1:"),
        Self.taken("embedded-kafka --port 0 --control $P", "--control-host and --control: 127.0.0.1:"),
        Self.taken("apns-simulator --generate-credentials $D --control 0 --port $P", "--host and --port: 127.0.0.1:"),
        Self.taken(
            "apns-simulator --generate-credentials $D --control 0 --port 0 --manage-port $P",
            "--host and --manage-port: 127.0.0.1:"),
        Self.taken(
            "apns-simulator --generate-credentials $D --port 0 --control $P", "--control-host and --control: 127.0.0.1:"
        ),

        Case(line: "$M demo --summary $D", status: 1, says: "--summary"),
        Case(line: "$M demo --summary $D/none/numbers.json", status: 1, says: "cannot be written: No such file"),
        Case(line: "$C --summary $D/none/numbers.json", status: 1, says: "cannot be written: No such file"),
        Case(line: "$M run --config $D", status: 1, says: "Is a directory"),
        Case(line: "$M run --config /dev/zero", status: 1, says: "the most that are read"),
        Case(line: "$M topics check --config /dev/zero", status: 1, says: "the most that are read"),
        Case(
            line: "$M apns-simulator --certificate /dev/zero --certificate-key / --any-key --port 0 --control 0",
            status: 1, says: "--certificate: /dev/zero has more than"),

        // These files begin with a byte order mark, or are not UTF-8.
        Case(
            line: #"printf '\357\273\277%s' '\#(event)' > $D/mark; $M check $D/mark"#, status: 0,
            says: "mark begins with a byte order mark"),
        Case(
            line:
                #"printf '%s' '\#(event)' | iconv -t utf-16 > $D/mark; $M check $D/mark | grep -q 'order mark was found'"#,
            status: 0),
        Case(
            line: #"printf '\357\273\277client.id=a\n' > $D/mark; $M topics check \#(nobody) --properties $D/mark"#,
            status: 1, says: "begins with a byte order mark"),
        Case(
            line: #"printf '\357\273\277apps: []\n' > $D/mark; $M run --check --config $D/mark"#, status: 1,
            says: "mark: file: begins with a byte order mark"),
        Case(
            line:
                #"printf '\033[31mpush\n' > $D/j; $M apns-simulator --generate-credentials $D --journal $D/j --port 0 --control 0"#,
            status: 1, says: "j: byte 0: expected an entry of a journal, found a text of"),
        Case(
            line: "$M apns-simulator --generate-credentials /dev/null --port 0 --control 0", status: 1,
            says: "Error: --generate-credentials: /dev/null is no directory: expected one"),
        Case(
            line: "$M apns-simulator --generate-credentials /dev/null/a --port 0 --control 0", status: 1,
            says: "--generate-credentials: /dev/null/a cannot be made: Not a directory"),
        Case(
            line: "$M apns-simulator --generate-credentials $D --key $D/none.p8 --port 0 --control 0", status: 1,
            says: "--key: ", names: "none.p8 cannot be read: No such file"),
        Case(
            line: "touch $D/key; $M apns-simulator --generate-credentials $D --key $D/key --port 0 --control 0",
            status: 64,
            says: "--key-id is needed", names: "Usage: mailboat apns-simulator"),
        // A command with an invalid option asks no server.
        Case(line: "$M topics check --bootstrap ''", status: 64, says: "--bootstrap is empty"),
        Case(line: "$M topics check --bootstrap localhost:99999", status: 64, says: "ports from 1 to 65535"),
        Case(line: "$M topics check -X bootstrap.servers=127.0.0.1:1 --timeout 1", status: 1),
        // A broker without a port was given. The port that is used is named once, no matter how the broker was given.
        Case(
            line: "$M topics check --bootstrap no-such-host.invalid --timeout 1", status: 1,
            says: "warning: no-such-host.invalid has no port, so Kafka's usual one is taken: 9092",
            names: "no-such-host.invalid:9092 cannot be asked"),
        Case(
            line:
                "$M topics check -X bootstrap.servers=no-such-host.invalid --timeout 1 2>&1 | grep -c 'has no port' | grep -qx 1",
            status: 0),
        Case(
            line:
                "printf 'kafka.bootstrap: h\\nnonsense: 1\\nrubbish: 2\\napps: []\\n' > $D/m; $M run --check --config $D/m 2>&1 | grep -c print-settings | grep -qx 1",
            status: 0),
        Case(line: "$M pubish", status: 64, says: "did you mean 'publish'?"),
        Case(line: "$M help nope", status: 64, says: "has no command 'nope'"),
        Case(line: "$M help run | grep -q 'print-settings'", status: 0),
        Case(line: "COLUMNS=5 $M run --help | grep -q 'mailboat run --config mailboat.yaml --check'", status: 0),
    ]

    @Test(arguments: Self.cases)
    func nothingTraps(_ one: Case) async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let taken = try ListeningSocket()
        defer { taken.close() }
        // When a signal ends a command, a shell exits with 128 + the signal's number.
        let ended = try await EndedProcess.run(
            URL(fileURLWithPath: "/bin/sh"), ["-c", one.line], output: one.hasNoReader ? .broken : .dropped,
            environment: [
                "M": BuiltExecutable.besideThisOne("mailboat").path, "C": BuiltExecutable.besideThisOne("chaos").path,
                "D": folder.path, "P": "\(taken.port)", "SWIFT_BACKTRACE": "enable=no",
            ])
        #expect(ended.status == one.status, "\(ended.errors)")
        for text in [one.says, one.names] where !text.isEmpty {
            #expect(ended.errors.contains(text), "\(ended.errors)")
        }
        #expect(!ended.errors.contains("errno"), "\(ended.errors)")
    }
}
