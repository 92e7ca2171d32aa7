import APNSProtocol
import ArgumentParser
import CommandSupport
import PushTransport
import PushWorker

/// `mailboat channels`.
struct ChannelsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "channels",
        abstract: "Make, look at and delete the broadcast channels of an app.",
        discussion: """
            A broadcast to a channel reaches every phone whose Live Activity listens to it (iOS 18). Channels are made here, their ids go \
            to the app or into the 'input-push-channel' of a start. They stay until they are deleted, and an app may have 10,000 in each \
            environment. Anyone who has the key may make and delete channels; a list shows all of them.

            Before the first one, switch broadcasts on in Apple's developer portal: Certificates, Identifiers & Profiles, Identifiers, the App \
            ID, Push Notifications, Broadcast Capability. Switching it off again deletes every channel.
            """,
        subcommands: [Create.self, Show.self, List.self, Delete.self, Reconcile.self])

    struct Create: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Make a channel and print its id.",
            discussion: """
                The id is the only line on standard output; standard error describes the channel.

                What a channel keeps cannot be changed later. 'none': only phones that are connected get a broadcast; Apple allows more \
                broadcasts, and recommends this for frequent changes, such as a match. 'most-recent': the last broadcast is kept for \
                phones that are off, for at most 8 hours; for rare changes, such as a flight.

                A creation that gets no answer is not repeated, because each one may take one of the 10,000 places. The message says so, \
                and 'mailboat channels list' shows all channels.

                Exit status: 0 when the channel was made, 1 when it was not or the result is unknown, 64 when the command line is wrong.

                EXAMPLES
                  mailboat channels create --config mailboat.yaml --storage none
                  mailboat channels create --config mailboat.yaml --app com.example.pizza \\
                    --environment development --storage most-recent
                """)

        @OptionGroup var options: ChannelsOptions

        @Option(help: "What the channel keeps for phones that are not connected.")
        var storage: MessageStoragePolicy

        func run() async throws {
            try await self.options.withDesk { desk, home, status in
                do throws(ChannelFailure) {
                    let channel = try await desk.create(self.storage, in: home)
                    status.end()
                    if self.options.isJSON {
                        StandardOutput.printAlways(
                            JSONLine.text(ChannelRecord(home, channel: channel, storage: self.storage)))
                    } else {
                        StandardOutput.printAlways(channel)
                        StandardError.print("made a channel of \(home) with storage \(self.storage.name)")
                    }
                    // Print the id on standard error if standard output fails. Without its id, nobody could use the
                    // channel or delete it.
                    if !StandardOutput.flush() { StandardError.print("the channel's id is \(channel)") }
                } catch { throw self.options.refusal(error) }
            }
        }
    }

    struct Show: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Say whether a channel exists and what it keeps.",
            discussion: """
                Exit status: 0 when the channel exists, 1 when it does not or APNs cannot be asked, 64 when the command line is wrong.

                EXAMPLES
                  mailboat channels show --config mailboat.yaml dHN0LXNyY2gtY2hubA==
                """)

        @OptionGroup var options: ChannelsOptions

        @Argument(help: ArgumentHelp("The channel's id, as it was printed when it was made.", valueName: "id"))
        var channel: String

        func run() async throws {
            try await self.options.withDesk { desk, home, status in
                do throws(ChannelFailure) {
                    let storage = try await desk.storagePolicy(of: self.channel, in: home)
                    status.end()
                    StandardOutput.printAlways(
                        self.options.isJSON
                            ? JSONLine.text(ChannelRecord(home, channel: self.channel, storage: storage))
                            : "\(self.channel)  \(home)  storage \(storage.name)")
                } catch { throw self.options.refusal(error) }
            }
        }
    }

    struct Delete: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Delete channels for good.",
            discussion: """
                Deletes without a question. An id is never used again, and phones that listen are not informed: end the activities first. \
                Reports for each channel whether it was deleted, and continues after a failure. Phones that are off may still get the \
                message that a channel has stored.

                Exit status: 0 when every channel was deleted, 1 when one was not, 64 when the command line is wrong.

                EXAMPLES
                  mailboat channels delete --config mailboat.yaml dHN0LXNyY2gtY2hubA==
                  mailboat channels delete --config mailboat.yaml \\
                    --environment development $(cat old-channels)
                """)

        @OptionGroup var options: ChannelsOptions

        @Argument(help: ArgumentHelp("The channels' ids.", valueName: "id"))
        var channels: [String]

        func validate() throws {
            guard !self.channels.isEmpty else { throw ValidationError("give the id of at least one channel") }
        }

        func run() async throws {
            let isComplete = try await self.options.withDesk { desk, home, status in
                var failedCount = 0
                for (index, channel) in self.channels.enumerated() {
                    status.show("deleting channel \(index + 1) of \(self.channels.count)")
                    do throws(ChannelFailure) {
                        try await desk.delete(channel, in: home)
                        status.print(
                            self.options.isJSON
                                ? JSONLine.text(ChannelRecord(home, channel: channel, deleted: true))
                                : "deleted  \(channel)  \(home)")
                    } catch {
                        failedCount += 1
                        if self.options.isJSON {
                            status.print(
                                JSONLine.text(ChannelRecord(home, channel: channel, deleted: false, failure: error)))
                        }
                        status.report(Advice.naming(settings: self.options.config, in: "\(error)"))
                    }
                }
                status.end()
                if self.channels.count > 1 {
                    StandardError.print(
                        "\(self.channels.count - failedCount) deleted of \(home), \(failedCount) not deleted")
                }
                return failedCount == 0
            }
            if !isComplete { throw ExitCode.failure }
        }
    }
}
