import APNSProtocol
import CommandSupport
import Foundation
import KafkaLog
import PushTransport
import PushWorker
import Redaction
import TLSSession

/// Turns observations into findings. It asks nothing: equal observations give equal findings.
enum DoctorJudge {
    // MARK: Keys

    /// What was observed about a provider key.
    struct KeySight: Equatable {
        /// The setting that names the key.
        var setting = "apns.key-file"
        var path: String
        var teamID: String
        /// The key in use; empty: no key can be used.
        var keyID: String
        /// Permissions of each key file, as in stat(2). Files that could not be examined are missing.
        var modes: [String: UInt32] = [:]
        /// Why no key can be used; `nil`: a key can be used.
        var fault: String?
        /// What should be repaired although a key can be used.
        var complaints: [String] = []
    }

    static func key(_ sight: KeySight) -> DoctorFinding {
        let subject = ShownText.path(sight.path) ?? sight.setting
        if let fault = sight.fault {
            return DoctorFinding(
                // The fault's text names the file.
                level: .fail, check: .key, subject: fault.contains(subject) ? sight.setting : subject, found: fault,
                remedy:
                    "give a .p8 file from Apple's developer portal (Keys) that the worker may read, or a directory of such, as apns.key-file, or the text of one in the environment variable MAILBOAT_APNS_KEY"
            )
        }
        let found = "key \(sight.keyID) of team \(sight.teamID), a P-256 key"
        if let complaint = sight.complaints.first {
            return DoctorFinding(
                level: .warn, check: .key, subject: subject, found: "\(found); \(complaint)",
                remedy: "correct it: otherwise another key than the intended one is used")
        }
        for (path, mode) in sight.modes.sorted(by: { $0.key < $1.key }) where mode & 0o007 != 0 {
            return DoctorFinding(
                level: .warn, check: .key, subject: subject,
                found:
                    "\(found); \(ShownText.path(path) ?? "a file") may be read by every user of this machine (mode \(String(mode & 0o777, radix: 8)))",
                remedy: "chmod 640 or less; in Kubernetes defaultMode: 0440 of the volume, with fsGroup")
        }
        return DoctorFinding(level: .ok, check: .key, subject: subject, found: found)
    }

    // MARK: Connections

    /// Judges a connection.
    /// - Parameters:
    ///   - otherPort: Apple's other port for pushes, tried if the configured one could not be reached, and whether it
    ///     could be reached.
    ///   - unusedProxy: an environment variable that names a proxy while the settings want none.
    static func connection(
        _ route: PlannedRoute, _ report: APNSProbe.Report, otherPort: (port: Int, isReached: Bool)? = nil,
        unusedProxy: String? = nil, nowSeconds: Int64
    ) -> DoctorFinding {
        let subject = "\(route.host):\(route.port) (\(Self.uses(of: route)))"
        let way =
            route.proxy.map { "through the proxy \($0.shown)" }
            ?? unusedProxy.map { "directly: \($0) of the environment is not used, as apns.proxy is none" } ?? "directly"
        func finding(_ level: DoctorFinding.Level, _ found: String, _ remedy: String?) -> DoctorFinding {
            DoctorFinding(level: level, check: .connection, subject: subject, found: found, remedy: remedy)
        }
        // Without the management service no channel can be created, but pushes continue.
        let bad: DoctorFinding.Level = route.uses.contains { $0.purpose != .management } ? .fail : .warn
        switch report.step {
        case .connecting:
            if let tlsError = report.tlsError {
                return finding(bad, "no TLS: \(tlsError)", "repair what \(Self.settingName(of: route)).ca-file names")
            }
            if let otherPort, otherPort.isReached {
                return finding(
                    bad, "cannot be reached: \(report.failure); port \(otherPort.port) can",
                    "set \(Self.settingName(of: route)).port: \(otherPort.port), or let a firewall allow \(route.port)")
            }
            if let failure = report.proxyFailure { return finding(bad, failure.text, failure.remedy) }
            let advice = "check the lookup of the name, and that firewalls allow TCP to port \(route.port)"
            return finding(
                bad, "cannot be reached \(way): \(report.failure)",
                route.proxy != nil
                    ? "look at the proxy's log"
                    : unusedProxy == nil
                        ? "\(advice); if a proxy is needed, name it in apns.proxy"
                        : "\(advice); apns.proxy: environment takes that proxy")
        case .connected:
            return finding(bad, Self.tlsFailure(report, nowSeconds: nowSeconds), Self.tlsRemedy(route, report))
        case .secured:
            return finding(
                bad, "TLS is connected, but HTTP/2 is not: \(report.failure)",
                "the server at this address is not APNs, or is overloaded")
        case .ready, .answered:
            let streams =
                report.streamsMax.map {
                    $0 == .max ? "any number of requests" : $0 == 1 ? "1 request" : "\($0) requests"
                } ?? "no requests"
            let certificate = report.certificates.first.map { ", certificate \($0.subject)" } ?? ""
            let address = route.proxy == nil ? report.address.map { " at \($0)" } ?? "" : ""
            return finding(
                .ok, "\(report.tlsVersion ?? "TLS"), HTTP/2\(address), \(streams) at a time\(certificate), \(way)", nil)
        }
    }

    private static func uses(of route: PlannedRoute) -> String {
        var words: [String] = []
        for use in route.uses {
            let word = "\(use.environment.rawValue) \(use.purpose.rawValue)"
            if !words.contains(word) { words.append(word) }
        }
        return words.joined(separator: ", ")
    }

    private static func settingName(of route: PlannedRoute) -> String {
        "apns.\(route.uses.first?.environment.rawValue ?? "production")"
    }

    /// The TLS failure in words. Names the certificate at fault, if there is one.
    private static func tlsFailure(_ report: APNSProbe.Report, nowSeconds: Int64) -> String {
        guard let error = report.tlsError else { return "no TLS: \(report.failure)" }
        guard case .certificateRejected(let code) = error.kind else { return "no TLS: \(error)" }
        let chain = report.certificates
        let culprit =
            chain.first { $0.notAfterSeconds < nowSeconds || $0.notBeforeSeconds > nowSeconds }
            // A wrong name is a fault of the first certificate. The last certificate is the one that an unknown
            // authority has signed.
            ?? (Self.nameMismatchCodes.contains(code) ? chain.first : chain.last)
        guard let culprit else { return "\(error)" }
        func day(_ seconds: Int64) -> String { MomentText.time(millis: seconds * 1_000) }
        return
            "\(error): \(culprit.subject), signed by \(culprit.issuer), good from \(day(culprit.notBeforeSeconds)) to \(day(culprit.notAfterSeconds))"
    }

    /// `X509_V_ERR_HOSTNAME_MISMATCH` and `X509_V_ERR_IP_ADDRESS_MISMATCH`.
    private static let nameMismatchCodes = [62, 64]

    /// `X509_V_ERR_CERT_NOT_YET_VALID` and `X509_V_ERR_CERT_HAS_EXPIRED`.
    private static let dateCodes = [9, 10]

    private static func tlsRemedy(_ route: PlannedRoute, _ report: APNSProbe.Report) -> String {
        guard case .certificateRejected(let code)? = report.tlsError?.kind else {
            return "the server at this address is not APNs, but a proxy or another service"
        }
        if Self.nameMismatchCodes.contains(code) {
            return
                "the certificate does not have the name: the setting names another host than the one that answers"
        }
        if Self.dateCodes.contains(code) {
            return
                "compare this machine's clock with those times; if it is right, the server needs a new certificate"
        }
        let setting = "\(Self.settingName(of: route)).ca-file"
        // No trusted authority has signed the certificate.
        return switch route.trustRoots {
        case .system, .pem:
            "APNs' certificates are signed by authorities in the package ca-certificates: install or update it; where a proxy opens TLS, or a simulator answers, \(setting) names a PEM file with the authority that signed"
        case .file(let path):
            "\(setting) takes the place of the system's authorities: \(ShownText.path(path) ?? "its file") must hold the one that signed; for Apple's own hosts leave the setting out"
        }
    }

    // MARK: Clock

    /// Clock differences in seconds beyond which a warning is due, and beyond which the clock is wrong. Events more
    /// than five minutes ahead are refused, and APNs refuses provider tokens that are an hour old.
    static let clockWarnSeconds = 30.0
    static let clockFailSeconds = 300.0

    /// Judges the clock.
    /// - Parameters:
    ///   - date: the answer's `date` header field; `nil`: it had none.
    ///   - nowMillis: when the answer arrived.
    static func clock(host: String, date: String?, nowMillis: Int64) -> DoctorFinding {
        func finding(_ level: DoctorFinding.Level, _ found: String, _ remedy: String?) -> DoctorFinding {
            DoctorFinding(level: level, check: .clock, subject: host, found: found, remedy: remedy)
        }
        guard let date else { return finding(.ok, "not compared: the answer has no date", nil) }
        guard let seconds = HTTPDate.seconds(date) else {
            return finding(.ok, "not compared: the answer's date is “\(date.prefix(40))”", nil)
        }
        // The header has whole seconds.
        let ahead = Double(nowMillis) / 1_000 - Double(seconds) - 0.5
        let text =
            "this machine's clock is \(Int(abs(ahead).rounded())) s \(ahead < 0 ? "behind" : "ahead of") the server's"
        switch abs(ahead) {
        case Self.clockFailSeconds...: return finding(.fail, text, "set the clock, and keep it with NTP")
        case Self.clockWarnSeconds...: return finding(.warn, text, "keep the clock with NTP")
        default: return finding(.ok, text, nil)
        }
    }

    // MARK: Credentials

    /// Judges the answer to a push with an invalid token. Its reason says whether key and topic were accepted.
    static func credentials(
        bundleID: String, environment: String, keyID: String, _ report: APNSProbe.Report
    ) -> DoctorFinding {
        let subject = "\(bundleID) in \(environment), key \(keyID)"
        func finding(_ level: DoctorFinding.Level, _ found: String, _ remedy: String?) -> DoctorFinding {
            DoctorFinding(level: level, check: .credentials, subject: subject, found: found, remedy: remedy)
        }
        guard let answer = report.answer else {
            return finding(.warn, "no answer: \(report.failure)", "the check 'connection' says why")
        }
        let reason = ErrorBody.parse(answer.body.span).reason
        let says = "APNs says \(answer.status) \(reason.isEmpty ? "without a reason" : reason)"
        let meaning = APNSReasonWords.meaning(status: answer.status, reason: reason)
        let remedy = APNSReasonWords.remedy(status: answer.status, reason: reason)
        switch ReasonTable.verdict(status: answer.status, reason: reason, timestampMillis: nil) {
        case .tokenDead:
            return finding(.ok, "key and topic are good: \(says), and the push had no valid token", nil)
        case .credentialRefused, .topicRefused, .providerTokenExpired:
            return finding(.fail, "\(says): \(meaning)", remedy)
        case .accepted:
            return finding(.warn, "\(says) to a push without a token", "this is not APNs: check the host")
        case .providerTokenTooManyUpdates, .tokenThrottled, .serverBusy, .connectionUnusable, .messageRefused,
            .expirationRefused:
            return finding(.warn, "\(says): \(meaning)", remedy ?? "this shows nothing about the key: try again")
        }
    }

    // MARK: Tracing

    /// Judges the collector of traces. If it takes nothing, traces are lost, but pushes leave as before.
    static func tracing(_ endpoint: String, _ report: OTLPProbe.Report) -> DoctorFinding {
        func finding(_ level: DoctorFinding.Level, _ found: String, _ remedy: String?) -> DoctorFinding {
            DoctorFinding(level: level, check: .tracing, subject: endpoint, found: found, remedy: remedy)
        }
        guard let status = report.status else {
            return finding(
                .warn, "the collector cannot be reached: \(report.failure)",
                "check tracing.otlp-endpoint or OTEL_EXPORTER_OTLP_ENDPOINT, and that the worker may connect to it")
        }
        switch status {
        case 200...299: return finding(.ok, "takes traces", nil)
        case 401, 403:
            return finding(
                .warn, "the collector answers \(status): it requires authentication",
                "put the required header field into the file of tracing.headers-file, or into OTEL_EXPORTER_OTLP_HEADERS"
            )
        case 404, 405:
            return finding(.warn, "traces are not accepted there: the answer is \(status)", report.pathHint)
        case 415:
            return finding(
                .warn, "the collector answers 415: it takes no JSON", "name one that takes OTLP as http/json")
        case 429, 502, 503, 504: return finding(.warn, "the collector answers \(status): not now", "try again")
        default:
            return finding(.warn, "the collector answers \(status)", "look at what answers there, and at its log")
        }
    }

    // MARK: Kafka

    /// Finding for a login that has a token.
    static func login(_ report: LoginReport) -> DoctorFinding {
        let seconds = (report.leftMillis ?? 0) / 1_000
        let whose = report.principal.map { " for \(ShownText.name($0))" } ?? ""
        return DoctorFinding(
            level: .ok, check: .login, subject: report.source,
            found: "\(report.shownSource) gave a token\(whose) that is good for \(seconds) s")
    }

    /// Finding for a login without a token. The fault says what to do.
    static func login(_ fault: TokenFault) -> DoctorFinding {
        DoctorFinding(
            level: .fail, check: .login, subject: fault.setting, found: fault.text,
            remedy:
                "Kafka was not asked: it needs a token for the login. deploy/KafkaLogin.md has an example for each provider"
        )
    }

    /// Finding for a cluster that could not be reached.
    /// - Parameter found: why.
    static func kafkaUnreachable(_ found: String) -> DoctorFinding {
        // This is the text that `KafkaError.remedy` has for an unknown authority.
        let isUnknownAuthority = found.contains("ssl.ca.location")
        return DoctorFinding(
            level: .fail, check: .kafka, subject: "kafka.bootstrap", found: found,
            remedy: isUnknownAuthority
                ? "let kafka.properties.ssl.ca.location name that file; without it only the system's authorities are trusted (package ca-certificates)"
                : "check kafka.bootstrap, kafka.properties (TLS, SASL) and the client's rights: deploy/Configuration.md"
        )
    }

    /// One finding for each topic that is not as it should be, or a single finding if all topics are right.
    static func topics(_ findings: [TopicFinding], reasonUnknown: String?) -> [DoctorFinding] {
        let names = findings.reduce(into: [String]()) { if !$0.contains($1.topic) { $0.append($1.topic) } }
        let bad = findings.filter { $0.verdict == .wrong || $0.verdict == .poor }
        guard !bad.isEmpty else {
            let counts = names.map { name in
                "\(name) \(findings.first { $0.topic == name && $0.setting == "partitions" }?.value ?? "?")"
            }
            return [
                DoctorFinding(
                    level: .ok, check: .topics, subject: "\(names.count) topics",
                    found: "partitions: \(counts.joined(separator: ", "))"
                        + (reasonUnknown.map { "; replication and settings not checked: \($0)" } ?? ""))
            ]
        }
        return names.compactMap { name in
            let faults = bad.filter { $0.topic == name }
            guard !faults.isEmpty else { return nil }
            let texts = faults.map { fault in
                fault.setting == "exists"
                    ? "does not exist"
                    : "\(fault.setting) is \(fault.value), expected \(fault.expected)\(fault.reason.isEmpty ? "" : " (\(fault.reason))")"
            }
            return DoctorFinding(
                level: faults.contains { $0.verdict == .wrong } ? .fail : .warn, check: .topics, subject: name,
                found: texts.joined(separator: "; "),
                remedy: faults.contains { $0.setting == "exists" }
                    ? "'mailboat topics create --config FILE' makes what is missing"
                    : "'mailboat topics check --config FILE --all' shows every setting")
        }
    }

    /// Judges whether `state` has lost records that were written, as the group's commits show.
    /// - Parameters:
    ///   - group: the workers' group.
    ///   - hasCommits: whether Kafka has any offset of the group.
    static func state(topic: String, _ looks: [StateLook], group: String, hasCommits: Bool) -> DoctorFinding {
        guard let first = looks.first(where: \.isLost) else {
            if !hasCommits, looks.contains(where: \.word.hasOwner) {
                return DoctorFinding(
                    level: .warn, check: .state, subject: topic,
                    found:
                        "workers have written to it, but Kafka has no offsets of the group \(group): another kafka.group uses it, or the offsets were deleted",
                    remedy: GroupWord.sameGroup)
            }
            return DoctorFinding(level: .ok, check: .state, subject: topic, found: "holds what was written to it")
        }
        return DoctorFinding(
            level: .fail, check: .state, subject: topic,
            found:
                "has lost records in \(looks.count(where: \.isLost)) of \(NumberText.count(looks.count, "partition")), such as \(first.partition), which goes from \(first.log.lowOffset) to \(first.logEnd) and was acknowledged from \(first.extent.start ?? 0) to \(first.stateEnd ?? 0)",
            remedy:
                "'State is lost' in deploy/Operations.md; 'mailboat state accept-empty --config FILE' says what it would accept"
        )
    }

    /// Judges whether all members of the group belong there.
    static func group(_ group: String, _ company: GroupCompany) -> DoctorFinding {
        guard let complaint = company.complaint else {
            let count = company.memberCount
            return DoctorFinding(
                level: .ok, check: .group, subject: "group \(group)",
                found: count == 0 ? "nobody is in it" : "\(count) member\(count == 1 ? "" : "s")")
        }
        return DoctorFinding(
            level: .fail, check: .group, subject: "group \(group)", found: complaint, remedy: GroupCompany.remedy)
    }

    /// Finding for a group whose members could not be listed.
    static func groupUnknown(_ group: String, _ error: KafkaError) -> DoctorFinding {
        let isEmbedded = error.code == .unsupportedFeature
        return DoctorFinding(
            level: isEmbedded ? .ok : .warn, check: .group, subject: "group \(group)",
            found: isEmbedded
                ? "its members cannot be listed: \(error.text)" : "its members cannot be listed: \(error)",
            remedy: isEmbedded ? nil : "this client's user needs Describe on the group")
    }

    /// Judges the group's offsets.
    /// - Parameter others: partitions whose present log is not the one that the group has read.
    static func offsets(
        group: String, _ positions: [PartitionPositions], others: Set<TopicPartition> = []
    ) -> DoctorFinding {
        func finding(_ level: DoctorFinding.Level, _ found: String, _ remedy: String?) -> DoctorFinding {
            DoctorFinding(level: level, check: .offsets, subject: "group \(group)", found: found, remedy: remedy)
        }
        if let first = others.map(\.description).sorted().first {
            return finding(
                .fail,
                "\(others.count) of \(NumberText.count(positions.count, "partition")) are other logs than the group has read, such as \(first): the topic was created again",
                "'mailboat offsets reset --config FILE --to earliest' says which events would be read")
        }
        let outside = positions.filter { !$0.isCommittedInLog }
        if let first = outside.first {
            return finding(
                .fail,
                "\(outside.count) of \(NumberText.count(positions.count, "partition")) are outside their log, such as \(first.topicPartition.topic)[\(first.topicPartition.partition)] at \(first.committed ?? 0), whose log has \(first.lowOffset) to \(first.endOffset)",
                "'mailboat offsets reset --config FILE --to earliest' says which events would be lost")
        }
        let committed = positions.filter { $0.committed != nil }
        guard !committed.isEmpty else { return finding(.ok, "no worker has ever committed", nil) }
        let behind = positions.reduce(Int64(0)) { $0 + max(0, $1.endOffset - ($1.committed ?? $1.lowOffset)) }
        return finding(
            .ok,
            "has offsets in \(committed.count) of \(NumberText.count(positions.count, "partition")), \(NumberText.count(behind, "record")) before their ends",
            nil)
    }
}

/// Dates as HTTP writes them (RFC 9110 §5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
enum HTTPDate {
    private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

    /// Seconds since 1970; `nil`: the text is not such a date.
    static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT", let day = Int(words[1]),
            let month = Self.months.firstIndex(of: String(words[2])), let year = Int(words[3])
        else { return nil }
        let clock = words[4].split(separator: ":").map { Int($0) }
        guard clock.count == 3, let hour = clock[0], let minute = clock[1], let second = clock[2],
            (1970...9_999).contains(year), (1...31).contains(day), (0...23).contains(hour), (0...59).contains(minute),
            (0...60).contains(second)
        else { return nil }
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = .gmt
        let parts = DateComponents(
            year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
        return calendar.date(from: parts).map { Int64($0.timeIntervalSince1970) }
    }
}
