/// Exit statuses, common to all commands. A test compares `markdown` with the table in `deploy/Operations.md`.
enum CommandStatus: Int32, CaseIterable {
    case done = 0
    case failed = 1
    case wrongCommandLine = 64
    /// SIGINT ended the command. As in a shell, the status is 128 plus the signal's number.
    case interrupted = 130
    case terminated = 143

    /// The status's meaning, in a sentence that fits into a table.
    var meaning: String {
        switch self {
        case .done:
            "done, and nothing wrong was found. Also when there was nothing to do, when a dry run (no `--execute`) has nothing to object to, and when "
                + "`explain` has an answer"
        case .failed:
            "something is wrong: a cluster, APNs or a file could not be asked, read or written; the settings have faults; something was left out or refused; "
                + "a check found a fault. What was printed says what, and what to do. Also when the output could not be written (a full disk, a reader that has gone)"
        case .wrongCommandLine: "the command line is wrong: nothing was done, and the message says what was expected"
        case .interrupted: "SIGINT (Ctrl-C) arrived before it had finished"
        case .terminated:
            "SIGTERM arrived before it had finished. `run`, `dev`, `tail`, `embedded-kafka` and `apns-simulator` stop at both signals, and end with 0"
        }
    }

    /// The table as Markdown: `deploy/Operations.md` has these lines.
    static var markdown: String {
        "| status | means |\n|---|---|\n"
            + Self.allCases.map { "| \($0.rawValue) | \($0.meaning) |\n" }.joined()
    }
}
