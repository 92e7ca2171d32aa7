import ArgumentParser
import CommandSupport
import Glibc
import Logging
import PushWorker
import TLSSession

/// The command line. Each command has its own file in `Commands/` (the demo has a folder) and is listed here.
@main
struct Mailboat: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mailboat",
        abstract: "Carries update events from Kafka to Live Activities through Apple's push service (APNs).",
        discussion: """
            Develop with it: 'mailboat dev' shows in the browser how phones display your events.
            Try it: 'mailboat demo' plays a story from Kafka to simulated phones, in one process, in half a minute.
            Run it: 'mailboat run --config FILE' is the worker. Start as many as you like: Kafka divides the partitions among them.
            Ask it: 'mailboat explain KEY' says why a phone does not change, 'mailboat doctor' what keeps a worker from working.

            Exit status of every command: 0 when it is done and nothing wrong was found, 1 when something is wrong or what it prints cannot be \
            written (a full disk, a reader that has gone), 64 when the command line is wrong. deploy/Operations.md#exit-status has the table, and \
            'mailboat help COMMAND' what it means for that command.

            Pages that are named here and in messages, such as Events.md or deploy/Operations.md, are in /usr/share/doc/mailboat from the \
            package (share/doc/mailboat of the tarball), next to README.md.

            Completions for a shell: 'mailboat --generate-completion-script bash' (or zsh, fish) prints the script.
            """,
        version: MailboatVersion.current,
        subcommands: [
            DevCommand.self, DemoCommand.self, RunCommand.self, Check.self, Publish.self, Trigger.self, Replay.self,
            APNSSimulatorCommand.self, EmbeddedKafkaCommand.self,
            Explain.self, Doctor.self, Tail.self, Send.self, TokenCommand.self,
            TopicsCommand.self, StateCommand.self, DeadLettersCommand.self, OffsetsCommand.self,
            ChannelsCommand.self, AudienceCommand.self,
        ]
    )

    static func main() async {
        StandardStreams.prepare()
        // SIGHUP asks a worker to read its settings again, so it must not end the worker. Ignore the signal until
        // `HangUps` listens for it, which is before the settings are first read.
        if CommandLine.arguments.dropFirst().first == RunCommand.configuration.commandName { signal(SIGHUP, SIG_IGN) }
        TLSLibrary.outliveExit()
        LoggingSystem.bootstrap { LogLines.handler(label: $0) }
        await Self.runToEnd()
    }
}
