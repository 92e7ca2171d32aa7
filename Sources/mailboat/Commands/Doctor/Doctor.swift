import ArgumentParser
import CommandSupport
import Foundation
import KafkaLog
import LocalFiles
import PushWorker
import Redaction

/// `mailboat doctor`.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Try out what a worker needs: settings, keys, APNs, Kafka.",
        discussion: """
            Prints a line for each check: ok, warn or fail, what was looked at, what was found, and what to do. Changes nothing.

              configuration  the settings, as 'mailboat run --check' reads them, and the files that they name
              key            each provider key: readable, P-256, its ids, who else may read it
              connection     each host and port that a worker would connect to: TCP, TLS with the certificate verified, HTTP/2
              clock          this machine's clock, compared with the date of APNs' answer if it has one (with --push-probe)
              credentials    whether APNs accepts each app's key and bundle id (with --push-probe)
              login          the token for Kafka, if the login is by OAUTHBEARER
              tracing        the collector of traces, if there is one: a request without a span
              kafka, topics  the brokers, the topics, their partitions and settings, and missing rights
              group          the members of the consumer group, and whether any of them is not a worker
              offsets        whether the group's offsets are inside the logs
              state          whether the topic with the workers' state holds what was written to it

            Without --push-probe nothing is sent to APNs: whether it knows the key, and whether a bundle id is right, is not tried then. The             last lines, on standard error, say which checks were tried, and which were not and why.

            --push-probe sends one push for each app and environment to an invalid token. APNs names what it does not accept, and checks \
            key and topic before the token. No phone gets anything. APNs counts refusals, so do not repeat it in a loop.

            A running worker reports by itself what is wrong, at /readyz.

            Exit status: 0 when nothing fails, 1 when something does, 64 when the command line is wrong.

            EXAMPLES
              mailboat doctor --config mailboat.yaml
              mailboat doctor --config mailboat.yaml --push-probe
              mailboat doctor --config mailboat.yaml --format json |
                jq 'select(.level != "ok")'
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

    @Option(help: ArgumentHelp("A worker's configuration.", valueName: "file"), completion: .file())
    var config: String

    @Flag(help: "Also ask APNs whether it accepts each key and bundle id, with pushes that reach no phone.")
    var pushProbe = false

    @Option(help: "Copies of each partition that are expected.", form: .whole(1...1_000))
    var replication = 3

    @Option(
        help: ArgumentHelp("How long each connection, and each question to Kafka, may take.", valueName: "seconds"),
        form: .whole(1...600, "seconds"))
    var timeout = 10

    @Option(help: "Lines for a person, or one JSON object a line.")
    var format = Format.text

    func run() async throws {
        var findings: [DoctorFinding] = []
        let status = StatusLine()
        try await self.examine { found in
            var finding = found
            finding.remedy = found.remedy.map { Advice.naming(settings: self.config, in: $0) }
            findings.append(finding)
            status.print(self.format == .json ? finding.json : finding.line)
            try StandardOutput.check()
        } progress: {
            status.show($0)
        }
        status.end()
        for line in DoctorSummary(findings, isProbing: self.pushProbe).lines {
            StandardError.print(Advice.naming(settings: self.config, in: line))
        }
        if findings.contains(where: { $0.level == .fail }) { throw ExitCode(1) }
    }

    /// Reports each finding as soon as it is known.
    func examine(
        _ report: (DoctorFinding) throws -> Void, progress: (String) -> Void = { _ in }
    ) async throws {
        guard let configuration = try self.configuration(report) else { return }
        let examination = DoctorExamination(configuration, limit: .seconds(self.timeout))
        progress("reading keys")
        for finding in examination.keys() { try report(finding) }
        for route in configuration.plannedRoutes {
            progress("connecting to \(route.host):\(route.port)")
            try report(await examination.connection(route))
        }
        if self.pushProbe {
            for route in configuration.plannedRoutes {
                for use in route.uses where use.purpose == .pushes {
                    progress("trying the key of \(use.bundleID)")
                    for finding in await examination.credentials(route, use) { try report(finding) }
                }
            }
        }
        if let probe = OTLPProbe(configuration.tracing) {
            progress("asking the collector of traces")
            try report(DoctorJudge.tracing(probe.shownEndpoint, await probe.run()))
        }
        let command = self
        for finding in await NamedThread.run("doctor", { DoctorKafka(command).findings() }) { try report(finding) }
    }

    /// Reads the configuration and reports what is wrong with it.
    /// - Returns: the configuration; `nil`: the examination cannot continue.
    private func configuration(_ report: (DoctorFinding) throws -> Void) throws -> WorkerConfiguration? {
        func finding(_ level: DoctorFinding.Level, _ found: String) -> DoctorFinding {
            DoctorFinding(
                level: level, check: .configuration, subject: ShownText.path(self.config) ?? "--config", found: found)
        }
        func named(_ fault: ConfigurationFault, _ remedy: String? = nil) -> DoctorFinding {
            var named = finding(.fail, "\(fault.setting): \(fault.text)")
            // The fault's location names the file.
            named.subject = fault.location ?? named.subject
            named.remedy = remedy
            return named
        }
        let bytes: [UInt8]
        do { bytes = try InputFile.read(self.config) } catch {
            try report(finding(.fail, ShownText.path(self.config) == nil ? "\(error)" : error.complaint))
            return nil
        }
        let loaded: ConfigurationLoader.Loaded
        do throws(ConfigurationError) {
            loaded = try ConfigurationLoader.load(
                bytes, fileName: URL(fileURLWithPath: self.config).lastPathComponent,
                environment: ProcessInfo.processInfo.environment)
        } catch {
            for (index, fault) in error.faults.enumerated() {
                // The last fault has the advice that helps with all of them.
                let isLast = index == error.faults.count - 1
                try report(named(fault, isLast ? "'mailboat run --print-settings' lists all settings" : nil))
            }
            return nil
        }
        for warning in loaded.warnings { try report(finding(.warn, warning)) }
        // Keys have their own check.
        let faults = loaded.configuration.startFaults().filter { !$0.setting.hasSuffix("apns.key-file") }
        for fault in faults { try report(named(fault)) }
        if faults.isEmpty {
            let apps = loaded.configuration.apps.map(\.bundleID).joined(separator: ", ")
            let pronoun = loaded.configuration.apps.count == 1 ? "it" : "them"
            let unasked = self.pushProbe ? "" : " (APNs was not asked about \(pronoun))"
            try report(finding(.ok, "the settings are good; apps: \(apps)\(unasked)"))
        }
        return loaded.configuration
    }
}
