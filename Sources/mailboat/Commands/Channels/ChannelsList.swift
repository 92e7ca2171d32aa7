import APNSProtocol
import ArgumentParser
import CommandSupport
import PushTransport
import PushWorker

extension ChannelsCommand {
    struct List: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Print the ids of all channels of an app, including those made by others.",
            discussion: """
                Prints one id per line on standard output, in APNs' order; the number of channels and the limit are written to standard \
                error. With --details there is a request for each channel about what it keeps, and a line shows the progress.

                Exit status: 0 when the list is whole, 1 when it is not or APNs cannot be asked, 64 when the command line is wrong.

                EXAMPLES
                  mailboat channels list --config mailboat.yaml
                  mailboat channels list --config mailboat.yaml --app com.example.pizza \\
                    --details --format json
                """)

        @OptionGroup var options: ChannelsOptions

        @Flag(help: "Also show what each channel keeps.")
        var details = false

        /// Maximum number of channels that APNs is asked about at a time.
        private static let askedMax = 16

        func run() async throws {
            let isWhole = try await self.options.withDesk { desk, home, status in
                let channels: [String]
                do throws(ChannelFailure) {
                    channels = try await desk.list(in: home)
                } catch { throw self.options.refusal(error) }
                var failedCount = 0
                if self.details {
                    failedCount = await self.showDetails(of: channels, desk, home, status)
                } else if self.options.isJSON {
                    status.print(JSONLine.text(ChannelList(home, channels)))
                } else {
                    for channel in channels { status.print(channel) }
                }
                status.end()
                StandardError.print(
                    "\(NumberText.count(channels.count, "channel")) of \(home); there may be \(ChannelRequest.countMax)"
                        + (failedCount > 0 ? "; \(failedCount) could not be read" : ""))
                return failedCount == 0
            }
            if !isWhole { throw ExitCode.failure }
        }

        /// Prints a line for each channel, in the order of the list.
        /// - Returns: number of channels that could not be read.
        private func showDetails(
            of channels: [String], _ desk: ChannelDesk, _ home: ChannelHome, _ status: StatusLine
        ) async -> Int {
            var failedCount = 0
            for start in stride(from: 0, to: channels.count, by: Self.askedMax) {
                status.show("reading channel \(start + 1) of \(channels.count)")
                let some = Array(channels[start..<min(start + Self.askedMax, channels.count)])
                let records = await Self.records(of: some, desk, home)
                for record in records {
                    status.print(self.options.isJSON ? JSONLine.text(record) : Self.line(record))
                    if record.error != nil { failedCount += 1 }
                }
            }
            return failedCount
        }

        private static func records(
            of channels: [String], _ desk: ChannelDesk, _ home: ChannelHome
        ) async -> [ChannelRecord] {
            await withTaskGroup(of: (Int, ChannelRecord).self) { group in
                for (index, channel) in channels.enumerated() {
                    group.addTask {
                        do throws(ChannelFailure) {
                            let storage = try await desk.storagePolicy(of: channel, in: home)
                            return (index, ChannelRecord(home, channel: channel, storage: storage))
                        } catch {
                            return (index, ChannelRecord(home, channel: channel, failure: error))
                        }
                    }
                }
                var records: [(Int, ChannelRecord)] = []
                for await record in group { records.append(record) }
                return records.sorted { $0.0 < $1.0 }.map(\.1)
            }
        }

        private static func line(_ record: ChannelRecord) -> String {
            let what = record.storage.map { "storage \($0)" } ?? "not read: \(record.error?.cause ?? "no answer")"
            return "\(record.channel ?? "")  \(what)"
        }
    }
}
