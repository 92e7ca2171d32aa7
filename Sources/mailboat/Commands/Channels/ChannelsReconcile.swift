import APNSProtocol
import ArgumentParser
import ChannelKeeping
import CommandSupport
import Foundation
import KafkaLog
import PushEngine
import PushTransport
import PushWorker

extension ChannelsCommand {
    struct Reconcile: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Compare APNs' list of channels with those that workers keep for audiences.",
            discussion: """
                Asks APNs for the channels of an app, reads from the state topic which of them are kept for audiences, and prints a line for each \
                on which the two disagree:

                  delete         ours, and useless: it has no audience, or its deletion was begun
                  open again     ours, of an audience that lives, and missing from APNs' list
                  forget         ours, no longer needed, and missing from APNs' list
                  possibly ours  a creation whose answer was lost may have made it
                  unknown        not in state: somebody else's, or made by 'mailboat channels create'

                A worker that keeps channels does the first three by itself, slowly. --execute does the first at once, for an app whose \
                workers are gone or no longer keep channels. It deletes only ids that state names as ours, and reads state again before it \
                deletes a channel that a worker may have given to an audience meanwhile. It opens no channel, because the audience's owner \
                must learn the new id; a worker does that, and updates state. Channels that are possibly ours or unknown are shown and \
                never touched. Use 'mailboat channels delete' for those that you know to be useless.

                Exit status: 0 when everything could be read, and with --execute deleted; 1 when something could not; 64 when the command line is \
                wrong.

                EXAMPLES
                  mailboat channels reconcile --config mailboat.yaml
                  mailboat channels reconcile --config mailboat.yaml --app com.example.pizza \\
                    --environment production --format json
                  mailboat channels reconcile --config mailboat.yaml --execute
                """)

        @OptionGroup var kafka: KafkaOptions
        @OptionGroup var selection: ChannelsSelection

        @Option(help: "The state topic. Default: that of --config.", form: .topic)
        var topic: String?

        @Flag(help: "Delete. Without it nothing is deleted, and the command prints what it would do.")
        var execute = false

        /// Longest wait for a connection to APNs, seconds. `--timeout` may shorten it.
        private static let connectionWaitMax = 15

        func validate() throws {
            guard self.kafka.cluster.settingsFile != nil else {
                throw ValidationError("--config is missing: it names the apps, their keys and where APNs is reached")
            }
        }

        func run() async throws {
            let configuration = try self.kafka.cluster.configuration()
            let topic = self.topic ?? configuration.topics.state
            let isComplete = try await self.selection.withDesk(
                of: configuration, waiting: min(self.kafka.timeout, Self.connectionWaitMax)
            ) { desk, home, status in
                let listed: [String]
                do throws(ChannelFailure) { listed = try await desk.list(in: home) } catch {
                    throw self.selection.refusal(error, settings: self.kafka.cluster.settingsFile)
                }
                status.end()
                let records = try await self.records(of: home, in: topic, status)
                let app = configuration.apps.first { $0.bundleID == home.bundleID }?.engine
                let report = ReconcileReport(
                    home: home, kept: records.channels, listed: listed, settings: Self.settings(of: app),
                    wallMillis: Int64(Date().timeIntervalSince1970 * 1_000))
                var failedCount = 0
                for finding in report.findings {
                    guard self.execute, finding.verdict == .delete else {
                        status.print(self.selection.isJSON ? report.json(finding) : ReconcileReport.text(finding))
                        continue
                    }
                    if try await !self.delete(finding, of: report, desk, topic, status) { failedCount += 1 }
                }
                status.end()
                for fault in records.unreadable {
                    StandardError.print("\(topic)[\(fault.partition)]@\(fault.offset) cannot be read: \(fault.reason)")
                }
                self.printSummary(report, failedCount: failedCount, isKept: app?.audienceChannel == .auto)
                return failedCount == 0 && records.unreadable.isEmpty
            }
            if !isComplete { throw ExitCode.failure }
        }

        /// Settings of the app's channel keeper. Without `audience.channel: auto`, no keeper has a pool.
        private static func settings(of app: AppConfiguration?) -> KeeperSettings {
            var settings = KeeperSettings()
            guard let app, app.audienceChannel == .auto else { return settings }
            settings.poolSize = app.channelsWarm
            settings.poolPolicy = app.audienceChannelStorage.policy
            return settings
        }

        private func records(
            of home: ChannelHome, in topic: String, _ status: StatusLine
        ) async throws -> KeptChannelRecords {
            let kafka = self.kafka
            return try await NamedThread.run("reconcile") {
                Result {
                    let partition = KeptChannelKey.keeperPartition(
                        bundleID: home.bundleID, environment: home.environment,
                        partitionCount: try kafka.partitionCount(of: topic))
                    var records = KeptChannelRecords(of: home)
                    status.show("reading \(topic): partition \(partition)")
                    try kafka.forEachRecord(of: topic, partitions: [partition]) { records.add($0) }
                    return records
                }
            }.get()
        }

        /// Deletes the channel of a finding.
        /// - Returns: whether the channel is deleted, or need not be deleted now.
        private func delete(
            _ finding: ReconcileReport.Finding, of report: ReconcileReport, _ desk: ChannelDesk, _ topic: String,
            _ status: StatusLine
        ) async throws -> Bool {
            if finding.isWarm, let number = finding.number {
                let now = try await self.records(of: report.home, in: topic, status).channels[number]
                guard ReconcileReport.mayStillBeDeleted(finding, now: now) else {
                    status.print(
                        self.selection.isJSON
                            ? report.json(finding, deleted: false)
                            : "left alone     \(finding.id)  its record in state has changed meanwhile")
                    return true
                }
            }
            do throws(ChannelFailure) {
                status.show("deleting channel \(finding.id)")
                try await desk.delete(finding.id, in: report.home)
                status.print(
                    self.selection.isJSON
                        ? report.json(finding, deleted: true)
                        : "deleted        \(finding.id)  \(ReconcileReport.why(finding))")
                return true
            } catch {
                if error.kind == .channelNotFound {
                    status.print(
                        self.selection.isJSON
                            ? report.json(finding, deleted: false)
                            : "gone already   \(finding.id)  \(ReconcileReport.why(finding))")
                    return true
                }
                if self.selection.isJSON { status.print(report.json(finding, deleted: false, failure: error)) }
                status.report("\(error)")
                return false
            }
        }

        /// Prints the report.
        /// - Parameter isKept: whether workers with this configuration keep channels for the app's audiences.
        private func printSummary(_ report: ReconcileReport, failedCount: Int, isKept: Bool) {
            StandardError.print(report.summary)
            let (deletes, left) = (report.count(.delete), report.count(.openAgain) + report.count(.forget))
            if self.execute {
                if failedCount > 0 { StandardError.print("\(failedCount) of \(deletes) were not deleted") }
            } else if deletes > 0 {
                StandardError.print("nothing was done: --execute deletes")
            }
            if left > 0 {
                StandardError.print(
                    "the worker that keeps the app's channels opens and forgets the others"
                        + (isKept ? "" : "; with this configuration none opens any, as audience.channel is none"))
            }
        }
    }
}
