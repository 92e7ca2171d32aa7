import APNSProtocol
import ArgumentParser
import PushTransport
import PushWorker
import TLSSession
import Testing

@testable import KafkaLog
@testable import mailboat

/// Tests of the findings that `mailboat doctor` makes from its observations.
struct DoctorJudgeTests {
    typealias Level = DoctorFinding.Level

    private static let nowSeconds: Int64 = 1_700_000_000

    private static func expect(
        _ finding: DoctorFinding, _ level: Level, _ words: [String], _ location: SourceLocation = #_sourceLocation
    ) {
        #expect(finding.level == level, "\(finding.line)", sourceLocation: location)
        for word in words { #expect(finding.line.contains(word), "\(finding.line)", sourceLocation: location) }
        // Every finding that is not ok says what to do.
        #expect(level == .ok || finding.remedy != nil, "\(finding.line)", sourceLocation: location)
        #expect(!finding.line.contains("\n"), sourceLocation: location)
    }

    // MARK: Keys

    @Test(arguments: [
        (UInt32(0o100600), nil, [], Level.ok, ["key ABC123DEFG of team TEAM123456"]),
        (0o100640, nil, [], .ok, []),
        (0o100644, nil, [], .warn, ["mode 644", "chmod"]),
        (0o100600, "cannot be opened: No such file or directory", [], .fail, ["No such file", "apns.key-file"]),
        (0o100600, nil, ["apns.key-id is A, but k.p8 is named for key B"], .warn, ["named for key B"]),
    ])
    func keys(mode: UInt32, fault: String?, complaints: [String], level: Level, words: [String]) {
        let sight = DoctorJudge.KeySight(
            path: "k.p8", teamID: "TEAM123456", keyID: "ABC123DEFG", modes: ["k.p8": mode], fault: fault,
            complaints: complaints)
        Self.expect(DoctorJudge.key(sight), level, words)
    }

    // MARK: Connections

    private static func route(_ purposes: PlannedRoute.Purpose...) -> PlannedRoute {
        PlannedRoute(
            name: "production/K", host: "api.push.apple.com", port: 443, trustRoots: .system,
            key: ProviderKey(keyID: "K", teamID: "T", path: "k.p8"),
            uses: purposes.map { .init(bundleID: "a.b", environment: .production, purpose: $0) })
    }

    private static func report(
        _ step: APNSProbe.Step, _ failure: String = "", _ tlsError: TLSError? = nil,
        certificates: [PeerCertificate] = []
    ) -> APNSProbe.Report {
        var report = APNSProbe.Report()
        (report.step, report.failure, report.tlsError, report.certificates) = (step, failure, tlsError, certificates)
        return report
    }

    private static func refused(_ code: Int, _ detail: String) -> TLSError {
        TLSError(
            kind: .certificateRejected(verifyCode: code), detail: "the server's certificate is not accepted: \(detail)")
    }

    private static func certificate(_ name: String, by issuer: String, until: Int64 = nowSeconds + 1) -> PeerCertificate
    {
        PeerCertificate(
            subject: "/CN=\(name)", issuer: "/CN=\(issuer)", notBeforeSeconds: Self.nowSeconds - 10,
            notAfterSeconds: until)
    }

    private static let chain = [certificate("api.push.apple.com", by: "Middle"), certificate("Middle", by: "Root")]

    @Test func connections() {
        func judge(
            _ report: APNSProbe.Report, _ route: PlannedRoute = Self.route(.pushes), other: (Int, Bool)? = nil
        ) -> DoctorFinding {
            DoctorJudge.connection(
                route, report, otherPort: other.map { (port: $0.0, isReached: $0.1) }, nowSeconds: Self.nowSeconds)
        }
        var good = Self.report(.ready, certificates: Self.chain)
        (good.tlsVersion, good.address, good.streamsMax) = ("TLSv1.3", "17.1.2.3", 1)
        Self.expect(
            judge(good), .ok, ["api.push.apple.com:443 (production pushes)", "17.1.2.3", "1 request at a time"])
        Self.expect(judge(Self.report(.connecting, "Connection refused")), .fail, ["Connection refused", "port 443"])
        Self.expect(judge(Self.report(.connecting, "timed out"), other: (2_197, false)), .fail, ["firewalls"])
        Self.expect(
            judge(Self.report(.connecting, "timed out"), other: (2_197, true)), .fail,
            ["port 2197 can", "apns.production.port: 2197"])
        // Pushes work without the management host, so this is only a warning.
        Self.expect(
            judge(Self.report(.connecting, "timed out"), Self.route(.management)), .warn, ["production management"])
        Self.expect(judge(Self.report(.secured, "closed")), .fail, ["HTTP/2 is not"])
        Self.expect(
            judge(Self.report(.connected, "x", TLSError(kind: .noApplicationProtocol, detail: "does not speak h2"))),
            .fail,
            ["does not speak h2", "not APNs"])
        Self.expect(
            judge(Self.report(.connecting, "x", TLSError(kind: .badTrustRoots, detail: "ca.pem holds none"))), .fail,
            ["ca.pem", "apns.production.ca-file"])
    }

    /// The finding says whether a connection was direct or went through a proxy. It also names a variable with a proxy
    /// that was not used.
    @Test func proxies() {
        var report = Self.report(.ready, certificates: Self.chain)
        (report.address, report.streamsMax) = ("10.0.0.1", 1)
        var route = Self.route(.pushes)
        func judge(unused: String? = nil) -> DoctorFinding {
            DoctorJudge.connection(route, report, unusedProxy: unused, nowSeconds: Self.nowSeconds)
        }
        Self.expect(judge(), .ok, ["at 10.0.0.1", "directly"])
        Self.expect(judge(unused: "https_proxy"), .ok, ["directly: https_proxy of the environment is not used"])
        route.proxy = ProxyAccess(host: "proxy", port: 3_128)
        Self.expect(judge(), .ok, ["through the proxy http://proxy:3128"])
        #expect(!judge().line.contains("10.0.0.1"))
        report = Self.report(.connecting, "no tunnel within 10000 ms")
        Self.expect(judge(), .fail, ["cannot be reached through the proxy http://proxy:3128: no tunnel"])
        route.proxy = nil
        Self.expect(judge(), .fail, ["if a proxy is needed, name it in apns.proxy"])
        Self.expect(judge(unused: "HTTPS_PROXY"), .fail, ["HTTPS_PROXY", "apns.proxy: environment takes that proxy"])
    }

    @Test func collectors() {
        func judge(_ status: Int?, _ failure: String = "") -> DoctorFinding {
            var report = OTLPProbe.Report()
            (report.status, report.failure, report.pathHint) = (status, failure, "is /v1/traces meant?")
            return DoctorJudge.tracing("http://collector:4318/otlp", report)
        }
        Self.expect(judge(200), .ok, ["http://collector:4318/otlp", "takes traces"])
        Self.expect(judge(nil, "Connection refused"), .warn, ["cannot be reached: Connection refused"])
        Self.expect(judge(401), .warn, ["requires authentication", "tracing.headers-file"])
        Self.expect(judge(404), .warn, ["404", "is /v1/traces meant?"])
        Self.expect(judge(415), .warn, ["no JSON"])
        for status in [400, 429, 500, 503] { Self.expect(judge(status), .warn, ["answers \(status)"]) }
    }

    /// The finding names the faulty certificate of the chain.
    @Test(arguments: [
        (10, "certificate has expired", certificate("Middle", by: "Root", until: nowSeconds - 1), "/CN=Middle"),
        (62, "hostname mismatch", certificate("Middle", by: "Root"), "/CN=api.push.apple.com"),
        (
            20, "unable to get local issuer certificate", certificate("Middle", by: "Root"),
            "/CN=Middle, signed by /CN=Root"
        ),
    ])
    func theCertificateAtFaultIsNamed(code: Int, detail: String, second: PeerCertificate, named: String) {
        let chain = [Self.chain[0], second]
        let finding = DoctorJudge.connection(
            Self.route(.pushes), Self.report(.connected, detail, Self.refused(code, detail), certificates: chain),
            nowSeconds: Self.nowSeconds)
        Self.expect(finding, .fail, [detail, ": \(named)"])
    }

    /// If no trusted authority has signed a certificate, the remedy names the setting for trusted authorities.
    @Test(arguments: [
        (20, PlannedRoute.Purpose.pushes, "install or update it", "apns.production.ca-file names a PEM file"),
        (19, .management, "ca-certificates", "apns.production.ca-file"),
        (10, .pushes, "clock", "new certificate"),
        (62, .pushes, "the setting names another host", ""),
    ])
    func theSettingOfTheAuthorityIsNamed(code: Int, purpose: PlannedRoute.Purpose, words: String, more: String) {
        let report = Self.report(.connected, "x", Self.refused(code, "x"), certificates: Self.chain)
        let finding = DoctorJudge.connection(Self.route(purpose), report, nowSeconds: Self.nowSeconds)
        #expect(finding.remedy?.contains(words) == true, "\(finding.line)")
        #expect(more.isEmpty || finding.remedy?.contains(more) == true, "\(finding.line)")
    }

    @Test func anAuthorityThatWasChosenIsNamed() {
        var route = Self.route(.pushes)
        route.uses[0].environment = .development
        route.trustRoots = .file(path: "/etc/mailboat/ca.pem")
        let report = Self.report(.connected, "x", Self.refused(20, "x"), certificates: Self.chain)
        let finding = DoctorJudge.connection(route, report, nowSeconds: Self.nowSeconds)
        #expect(finding.remedy?.contains("apns.development.ca-file takes the place") == true, "\(finding.line)")
        #expect(finding.remedy?.contains("/etc/mailboat/ca.pem must hold") == true, "\(finding.line)")
    }

    /// For Kafka, the remedy names Kafka's own setting for trusted authorities.
    @Test func theAuthorityOfBrokersIsNamed() {
        let unknown = KafkaError(
            code: .ssl,
            text:
                "ssl://b:1/bootstrap: SSL handshake failed: certificate verify failed: broker certificate could not be verified"
        )
        let finding = DoctorJudge.kafkaUnreachable("b:1 cannot be asked for its topics: \(unknown)")
        #expect(finding.remedy?.contains("kafka.properties.ssl.ca.location") == true, "\(finding.line)")
        let other = DoctorJudge.kafkaUnreachable("\(KafkaError(code: .timedOut))")
        #expect(other.remedy?.contains("kafka.bootstrap") == true)
        #expect(other.remedy?.contains("ssl.ca.location") == false)
    }

    /// Without a token no broker could be asked, so the finding names the token source.
    @Test func aLoginWithoutATokenNamesItsSource() {
        Self.expect(
            DoctorJudge.login(
                TokenFault(
                    cause: .refused, setting: "kafka.oauth.token-endpoint",
                    text: "https://login.example.com/ answers 401 (invalid_client): check kafka.oauth.client-id")),
            .fail,
            ["login", "kafka.oauth.token-endpoint: https://login.example.com/ answers 401", "KafkaLogin.md"])
    }

    @Test func strangersInTheGroupAreNamed() {
        func judge(_ members: GroupMember...) -> DoctorFinding {
            DoctorJudge.group(
                "mailboat",
                GroupCompany(
                    GroupDescription(strategy: members.isEmpty ? "" : "cooperative-sticky", members: members),
                    WorkerConfiguration()))
        }
        let worker = GroupMember(clientID: "mailboat", host: "/10.0.0.7", groupInstanceID: nil)
        let stranger = GroupMember(clientID: "kcat", host: "/10.0.0.9", groupInstanceID: nil)
        Self.expect(judge(), .ok, ["group mailboat: nobody is in it"])
        Self.expect(judge(worker), .ok, ["1 member"])
        Self.expect(judge(worker, stranger), .fail, ["kcat at 10.0.0.9", "group.id of their own"])
        Self.expect(
            DoctorJudge.groupUnknown("mailboat", KafkaError(code: .groupAuthorizationFailed)), .warn, ["Describe"])
        Self.expect(
            DoctorJudge.groupUnknown("mailboat", KafkaError(code: .unsupportedFeature)), .ok, ["cannot be listed"])
    }

    // MARK: Clock

    @Test(arguments: [
        ("Tue, 14 Nov 2023 22:13:20 GMT", Level.ok, "0 s"), ("Tue, 14 Nov 2023 22:13:55 GMT", .warn, "35 s behind"),
        ("Tue, 14 Nov 2023 22:03:20 GMT", .fail, "600 s ahead of"), ("yesterday", .ok, "not compared"),
        ("Tue, 14 Nov 2023 25:13:20 GMT", .ok, "not compared"),
    ])
    func clocks(date: String, level: Level, words: String) {
        Self.expect(DoctorJudge.clock(host: "h", date: date, nowMillis: Self.nowSeconds * 1_000 + 500), level, [words])
    }

    @Test func anAnswerMayHaveNoDate() {
        Self.expect(DoctorJudge.clock(host: "h", date: nil, nowMillis: 0), .ok, ["not compared"])
    }

    // MARK: Credentials

    @Test(arguments: [
        (UInt16(400), "BadDeviceToken", Level.ok, "key and topic are good"),
        (410, "Unregistered", .ok, "key and topic are good"),
        (403, "InvalidProviderToken", .fail, "do not belong together"),
        (403, "ExpiredProviderToken", .fail, "clock"), (400, "TopicDisallowed", .fail, "bundle id"),
        (403, "BadEnvironmentKeyInToken", .fail, "this environment"), (400, "BadTopic", .fail, "apns-topic"),
        (429, "TooManyProviderTokenUpdates", .warn, "20 minutes"), (503, "ServiceUnavailable", .warn, "later"),
        (400, "BadPriority", .warn, "apns-priority"), (200, "", .warn, "not APNs"), (404, "", .warn, "is this APNs?"),
    ])
    func credentials(status: UInt16, reason: String, level: Level, words: String) {
        var report = Self.report(.answered)
        report.answer = .init(status: status, body: Array("{\"reason\":\"\(reason)\"}".utf8))
        let finding = DoctorJudge.credentials(bundleID: "a.b", environment: "production", keyID: "K", report)
        Self.expect(finding, level, [words, "a.b in production, key K"])
    }

    @Test func withoutAnAnswerNothingIsKnown() {
        let finding = DoctorJudge.credentials(
            bundleID: "a.b", environment: "production", keyID: "K", Self.report(.connecting, "refused"))
        Self.expect(finding, .warn, ["no answer: refused"])
    }

    // MARK: Kafka

    private static func topic(_ name: String, _ setting: String, _ verdict: TopicFinding.Verdict) -> TopicFinding {
        TopicFinding(topic: name, setting: setting, value: "8", expected: "9", reason: "so", verdict: verdict)
    }

    @Test func topics() {
        let good = [Self.topic("e", "partitions", .right), Self.topic("s", "partitions", .right)]
        let all = DoctorJudge.topics(good + [Self.topic("e", "replication", .unknown)], reasonUnknown: "no controller")
        #expect(all.count == 1)
        Self.expect(all[0], .ok, ["2 topics", "e 8, s 8", "not checked: no controller"])
        let bad = DoctorJudge.topics(
            good + [
                Self.topic("e", "replication", .poor), Self.topic("s", "cleanup.policy", .wrong),
                Self.topic("s", "x", .poor),
            ],
            reasonUnknown: nil)
        #expect(bad.map(\.subject) == ["e", "s"])
        Self.expect(bad[0], .warn, ["replication is 8, expected 9 (so)", "topics check"])
        Self.expect(bad[1], .fail, ["cleanup.policy is 8", "x is 8"])
        Self.expect(
            DoctorJudge.topics([Self.topic("e", "exists", .wrong)], reasonUnknown: nil)[0], .fail, ["topics create"])
    }

    private static func place(_ partition: Int32, _ committed: Int64?) -> PartitionPositions {
        PartitionPositions(
            topicPartition: .init(topic: "e", partition: partition), committed: committed, lowOffset: 10, endOffset: 30)
    }

    @Test func offsets() {
        Self.expect(DoctorJudge.offsets(group: "g", [Self.place(0, nil)]), .ok, ["no worker has ever committed"])
        Self.expect(
            DoctorJudge.offsets(group: "g", [Self.place(0, 25), Self.place(1, nil)]), .ok,
            ["1 of 2 partitions, 25 records"])
        Self.expect(
            DoctorJudge.offsets(group: "g", [Self.place(0, 25), Self.place(1, 5)]), .fail,
            ["e[1] at 5, whose log has 10 to 30", "offsets reset"])
    }

    @Test func state() {
        var used = StateWord()
        used.read(OwnedRecord(partition: 0, offset: 10, timestampMillis: 0, key: [1], value: nil))
        func finding(_ word: StateWord, hasCommits: Bool) -> DoctorFinding {
            let look = StateLook(partition: 0, log: Self.place(0, nil), word: word, extent: .init(start: nil, end: nil))
            return DoctorJudge.state(topic: "s", [look], group: "g", hasCommits: hasCommits)
        }
        Self.expect(finding(used, hasCommits: true), .ok, ["holds what was written"])
        // Before the first start of a worker there are no commits, and nothing is missing.
        Self.expect(finding(StateWord(), hasCommits: false), .ok, ["holds what was written"])
        Self.expect(
            finding(used, hasCommits: false), .warn, ["no offsets of the group g", "need the same kafka.group"])
    }

    @Test func aProgramGetsTheSame() {
        let finding = DoctorFinding(level: .warn, check: .clock, subject: "h", found: "f", remedy: "r")
        #expect(
            finding.json
                == "{\"check\":\"clock\",\"found\":\"f\",\"level\":\"warn\",\"remedy\":\"r\",\"subject\":\"h\"}")
        #expect(finding.line == "warn  clock          h: f. To do: r")
    }

    @Test(arguments: [(["--timeout", "0"], "1 to 600"), (["--replication", "0"], "1 to 1000")])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try Doctor.parse(["--config", "m.yaml"] + arguments)
        } throws: { Doctor.message(for: $0).contains(expected) }
    }

    @Test(arguments: [("/nowhere/m.yaml", "cannot be read")])
    func withoutAConfigurationThereIsNothingToGoOnWith(path: String, words: String) async throws {
        var findings: [DoctorFinding] = []
        try await Doctor.parse(["--config", path]).examine { findings.append($0) }
        #expect(findings.count == 1)
        #expect(findings.first?.level == .fail && findings.first?.found.contains(words) == true)
    }
}
