import APNSProtocol
import ArgumentParser
import CommandSupport
import Foundation
import LocalFiles
import PushModel
import PushTransport
import PushWorker
import Redaction

/// `mailboat send`.
struct Send: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send one push straight to APNs, as Apple's curl example does.",
        discussion: """
            Shows whether a token, a key and a payload are good, without Kafka, workers, budgets or coalescing. The payload is sent byte \
            for byte; remarks about it are written to standard error, and it is sent all the same. Workers do not know of this push: its \
            'timestamp' must not be ahead of later events, or the phone ignores those. Other users of this machine can see a command's \
            words, including the token.

            Prints the status, the apns-id and what APNs' reason means. It makes one attempt: without an answer it is unknown whether the phone has the push.

            Exit status: 0 when APNs took the push, 1 when it did not or no answer arrived, 64 when the command line is wrong.

            EXAMPLES
              mailboat send --config mailboat.yaml --token 80e0... --payload payload.json
              echo '{"aps":{"timestamp":'$(date +%s)',"event":"update","content-state":{"minutes":12}}}' |
                mailboat send --config mailboat.yaml --token 80e0... --payload - \\
                  --priority 5
            """)

    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json }

    @OptionGroup var access: ProviderAccess

    @Option(help: ArgumentHelp("The device token, in hexadecimal digits.", valueName: "hex"))
    var token: String

    @Option(help: ArgumentHelp("The payload; - for standard input.", valueName: "file"), completion: .file())
    var payload: String

    @Option(help: "apns-priority.", form: .oneOf([10, 5, 1]))
    var priority = 10

    @Option(name: .customLong("push-type"), help: "apns-push-type.")
    var pushType = "liveactivity"

    @Option(help: "apns-topic. Default: the bundle id, with .push-type.liveactivity for that push type.")
    var topic: String?

    @Option(
        help: ArgumentHelp(
            "apns-expiration, seconds since 1970. Default: none, as in Apple's example.", valueName: "time"),
        form: .whole(0...Int64.max, "seconds since 1970"))
    var expiration: Int64?

    @Option(name: .customLong("apns-id"), help: ArgumentHelp("apns-id. Default: a new one.", valueName: "uuid"))
    var apnsID: String?

    @Option(
        help: ArgumentHelp("The longest time it may take, including the connection.", valueName: "seconds"),
        form: .whole(1...600, "seconds"))
    var timeout = 20

    @Option(help: "Lines for a person, or one JSON object.")
    var format = Format.text

    func validate() throws {
        guard !self.token.isEmpty, self.token.count <= 1_024, self.token.utf8.allSatisfy({ Self.isHexDigit($0) }) else {
            throw ValidationError("--token has \(self.token.count) characters: expected hexadecimal digits")
        }
        for (name, value) in [
            ("push-type", self.pushType), ("topic", self.topic ?? "-"), ("apns-id", self.apnsID ?? "-"),
        ] {
            guard !value.isEmpty, value.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
                throw ValidationError("--\(name) is \(ShownText.withheld(value)): expected text without spaces")
            }
        }
    }
    private static func isHexDigit(_ byte: UInt8) -> Bool { Hex.value(of: byte) <= 15 }

    func run() async throws {
        let (bundleID, route) = try self.access.pushRoute()
        let payload: [UInt8]
        do {
            payload = try InputFile.read(self.payload == "-" ? "/dev/stdin" : self.payload)
        } catch { throw CommandFailure("--payload: \(error)") }
        for remark in PayloadRemarks.find(
            in: payload, pushType: self.pushType, nowSeconds: Int64(Date().timeIntervalSince1970))
        {
            StandardError.print("note: the payload \(remark)")
        }
        let report = try await self.send(payload, bundleID: bundleID, route: route)
        var result = SendResult(
            apnsID: report.apnsID, app: bundleID, topic: report.topic, host: "\(route.host):\(route.port)",
            priority: self.priority, report.report)
        result.remedy = result.remedy.map { Advice.naming(settings: self.access.config, in: $0) }
        for line in self.format == .json ? [result.json] : result.lines { StandardOutput.printAlways(line) }
        if !result.isAccepted { throw ExitCode.failure }
    }

    private func send(
        _ payload: [UInt8], bundleID: String, route: PlannedRoute
    ) async throws -> (report: APNSProbe.Report, apnsID: String, topic: String) {
        let standard =
            self.pushType == "\(DeviceRequest.pushTypeValue)"
            ? String(decoding: DeviceRequest.topicValue(bundleID: bundleID), as: UTF8.self) : bundleID
        let push = DevicePush(
            token: self.token, topic: self.topic ?? standard, pushType: self.pushType, priority: self.priority,
            expirationSeconds: self.expiration, apnsID: self.apnsID ?? UUID().uuidString.lowercased(), payload: payload)
        let probe = APNSProbe(
            host: route.host, port: route.port, proxy: route.proxy, trustRoots: route.trustRoots,
            limit: .seconds(self.timeout))
        // Apple's console finds a push in development by its `apns-unique-id`.
        let report = await probe.run(push.request(try SignedToken(route.key), keptField: "apns-unique-id"))
        return (report, push.apnsID ?? "", push.topic)
    }
}

/// The result of the push, for a person or a program.
struct SendResult: Encodable {
    var apnsID: String
    var app: String
    var topic: String
    var host: String
    var priority: Int
    /// HTTP status; `nil`: no answer arrived.
    var status: UInt16?
    /// APNs' reason; empty: none given.
    var reason = ""
    var timestampMillis: Int64?
    /// What the reason means, or why there is no answer.
    var meaning: String
    var remedy: String?
    var apnsUniqueID: String?
    var apnsMillis: Int64?

    var isAccepted: Bool { self.status.map { (200...299).contains($0) } ?? false }

    init(apnsID: String, app: String, topic: String, host: String, priority: Int, _ report: APNSProbe.Report) {
        (self.apnsID, self.app, self.topic, self.host, self.priority) = (apnsID, app, topic, host, priority)
        guard let answer = report.answer else {
            self.meaning =
                "no answer: \(report.failure)"
                + (report.requestLeft ? "; it may be on the phone" : "; nothing was sent")
            self.remedy = "'mailboat doctor --config FILE' tries the connection step by step"
            return
        }
        let (reason, timestampMillis) = ErrorBody.parse(answer.body.span)
        self.status = answer.status
        self.reason = reason
        self.timestampMillis = timestampMillis
        self.meaning = APNSReasonWords.meaning(status: answer.status, reason: reason)
        self.remedy = APNSReasonWords.remedy(status: answer.status, reason: reason)
        self.apnsUniqueID = answer.keptField
        self.apnsMillis = answer.micros / 1_000
    }

    var json: String { JSONLine.text(self) }

    var lines: [String] {
        let since = self.timestampMillis.map { ", since \(MomentText.time(millis: $0))" } ?? ""
        let unique = self.apnsUniqueID.map { "  apns-unique-id \($0)" } ?? ""
        let head =
            self.status.map { "\($0)\(self.reason.isEmpty ? "" : " \(self.reason)")\(since)" } ?? "no status"
        return [
            "\(head)  apns-id \(self.apnsID)\(unique)  \(self.topic), priority \(self.priority), \(self.host)"
                + (self.apnsMillis.map { ", \($0) ms" } ?? ""),
            SentenceText.closed(self.meaning.prefix(1).uppercased() + self.meaning.dropFirst())
                + (self.remedy.map { " " + SentenceText.closed($0.prefix(1).uppercased() + $0.dropFirst()) } ?? ""),
        ]
    }
}
