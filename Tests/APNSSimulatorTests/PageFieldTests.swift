import APNSSimulator
import ChildProcesses
import Foundation
import Testing

/// Tests of the answer's field that links to a page about the push. The tests use curl, because the project's own
/// client ignores this field.
@Suite(.timeLimit(.minutes(5))) struct PageFieldTests {
    /// The head of the answer, one field per line.
    private static func head(_ bench: Bench, token: String, authorization: String?) async throws -> [String] {
        let ended = try await EndedProcess.run(
            URL(fileURLWithPath: "/usr/bin/env"),
            [
                "curl", "--silent", "--insecure", "--http2", "--dump-header", "-", "--output", "/dev/null", "--data",
                Bodies.update(stamp: Bench.startSeconds), "--header", "apns-topic: \(Bench.topic)", "--header",
                "apns-push-type: liveactivity", "--header", "apns-id: 123e4567-e89b-42d3-a456-426614174000",
            ] + (authorization.map { ["--header", "authorization: bearer \($0)"] } ?? [])
                + ["https://127.0.0.1:\(bench.simulator.port)/3/device/\(token)"])
        return ended.output.split(whereSeparator: \.isNewline).map(String.init)
    }

    private static let field = "mailboat-page: http://127.0.0.1:8484/#search=push:123e4567-e89b-42d3-a456-426614174000"

    @Test func everyAnswerToAPushNamesItsPage() async throws {
        try await Bench.run({ configuration in
            configuration.pageOfPush = { "http://127.0.0.1:8484/#search=push:\($0)" }
        }) { bench in
            let accepted = try await Self.head(bench, token: "0a", authorization: bench.standardJWT)
            #expect(accepted.first?.contains("200") == true && accepted.contains(Self.field), "\(accepted)")
            let refused = try await Self.head(bench, token: "0a", authorization: nil)
            #expect(refused.first?.contains("403") == true && refused.contains(Self.field), "\(refused)")
            bench.simulator.add(Fault(.answer(status: 429, reason: "TooManyRequests")))
            let prepared = try await Self.head(bench, token: "0a", authorization: bench.standardJWT)
            #expect(prepared.first?.contains("429") == true && prepared.contains(Self.field), "\(prepared)")
        }
    }

    @Test func whereNoPageIsServedThereIsNoField() async throws {
        try await Bench.run({ $0.pageOfPush = { _ in nil } }) { bench in
            let head = try await Self.head(bench, token: "0a", authorization: bench.standardJWT)
            #expect(head.first?.contains("200") == true, "\(head)")
            #expect(!head.contains { $0.hasPrefix("mailboat-page") }, "\(head)")
        }
    }
}
