import ChildProcesses
import Foundation
import SecretHunting
import Testing

/// Tests that a real worker's log never shows a secret, in any form and at any level. The log covers the start, reloads
/// and the end.
@Suite(.timeLimit(.minutes(10)))
struct SecretLogTests {
    /// Settings with secrets in their proper places. Other secrets are in places that only a running worker finds to be
    /// wrong.
    private static func settings(_ level: String, tokenFile: String, headersFile: String) -> String {
        func quoted(_ text: String) -> String {
            "\"\(text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n"))\""
        }
        let properties = ["sasl.password", "ssl.key.password", "sasl.kerberos.principal"].enumerated().map {
            "kafka.producer.\($0.element): \(quoted(PlantedSecret.all[$0.offset + 2].text))"
        }
        return """
            log.level: \(level)
            \(properties.joined(separator: "\n"))
            admin.token-file: \(tokenFile)
            tracing: {otlp-endpoint: "http://127.0.0.1:9/?key=\(PlantedSecret.all[2].text)", headers-file: \(headersFile), sample-ratio: 1}
            """
    }

    @Test(arguments: ["trace", "debug", "info"]) func noLogTellsOfASecret(level: String) async throws {
        try await TestHouse.with { house in
            let (tokenFile, headersFile) = ("\(house.directory)/token", "\(house.directory)/headers")
            try PlantedSecret.all[2].text.write(toFile: tokenFile, atomically: true, encoding: .utf8)
            try PlantedSecret.all[4].text.write(toFile: headersFile, atomically: true, encoding: .utf8)
            let worker = try await house.startWorker(
                settings: Self.settings(level, tokenFile: tokenFile, headersFile: headersFile))
            try await worker.ready()
            let log = { try String(contentsOfFile: worker.logPath, encoding: .utf8) }
            let publisher = try TestPublisher(house.kafka)
            try publisher.register("order-1", token: Tokens.make(1))
            try publisher.update("order-1", "step", priority: 10)
            try await publisher.flush()
            try await house.phonesAgree(with: publisher.phones)

            let before = try String(contentsOfFile: worker.configurationPath, encoding: .utf8)
            var reloads = 0
            /// Reloads the settings, and waits until the log contains `said`.
            func reload(_ text: String, until said: String) async throws {
                try text.write(toFile: worker.configurationPath, atomically: true, encoding: .utf8)
                worker.hangUp()
                reloads += 1
                try await until("the log says '\(said)' after reload \(reloads)") { try log().contains(said) }
            }
            for secret in PlantedSecret.all {
                let quoted = "\"\(secret.text.replacing("\"", with: "\\\"").replacing("\n", with: "\\n"))\""
                let count = try log().count(of: "the new configuration is not used")
                try (before + "\nkafka.consumer.sasl.pasword: \(quoted)\nbudget.per-hour: \(quoted)\nretention: [\n")
                    .write(toFile: worker.configurationPath, atomically: true, encoding: .utf8)
                worker.hangUp()
                try await until("the fault is said") {
                    try log().count(of: "the new configuration is not used") > count
                }
            }
            try await reload(
                before.replacing("key=", with: "key=other").replacing(tokenFile, with: PlantedSecret.all[2].text)
                    .replacing(headersFile, with: "/other/\(PlantedSecret.all[2].text)"),
                until: "a changed setting needs a restart and does not take effect")
            let status = try await LocalHTTP.get("/status", port: worker.adminPort)?.body ?? ""
            let ready = try await LocalHTTP.get("/readyz", port: worker.adminPort)?.body ?? ""
            worker.terminate()
            #expect(try await worker.exited() == 0)
            for text in [try log(), status, ready] {
                let found = PlantedSecret.found(in: text)
                #expect(found.isEmpty, "\(level): \(found)")
            }
        }
    }

    /// A token source may print anything. Readiness names the source, and the log shows nothing of what it printed.
    @Test func aWorkerWithoutATokenNamesItsSourceAlone() async throws {
        try await TestHouse.with { house in
            // A real cluster may need another login than this one.
            guard !house.kafka.isReal else { return }
            let login = ["consumer", "producer"].map {
                "kafka.\($0).security.protocol: sasl_plaintext\nkafka.\($0).sasl.mechanisms: OAUTHBEARER"
            }
            let secret = PlantedSecret.all[2]
            let worker = try await house.startWorker(
                settings: """
                    log.level: trace
                    \(login.joined(separator: "\n"))
                    kafka.oauth.token-command: [/bin/sh, -c, "echo $0; echo $0 >&2; exit 3", "\(secret.text)"]
                    """)
            let readiness = { try await LocalHTTP.get("/readyz", port: worker.adminPort) }
            let words = "kafka.oauth.token-command: /bin/sh ended with status 3"
            try await until("readiness names the source") { try await readiness()?.body.contains(words) == true }
            #expect(try await readiness()?.status == 503)
            try await until("so does the log") {
                try String(contentsOfFile: worker.logPath, encoding: .utf8).contains(words)
            }
            let said = try await readiness()?.body ?? ""
            worker.terminate()
            #expect(try await worker.exited() == 0)
            for text in [try String(contentsOfFile: worker.logPath, encoding: .utf8), said] {
                #expect(secret.found(in: text) == nil)
                #expect(!text.contains("Success"))
            }
        }
    }
}

extension String {
    fileprivate func count(of text: String) -> Int { self.ranges(of: text).count }
}
