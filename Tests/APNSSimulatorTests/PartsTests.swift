import DeviceModel
import Foundation
import PushModel
import TLSSession
import Testing

@testable import APNSSimulator

/// Tests of those parts of the simulator that need no socket.
@Suite(.timeLimit(.minutes(5))) struct PartsTests {
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func everyTokenIsFoundAgain(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var (table, known) = (TokenTable(), [[UInt8]: Int]())
        for _ in 0..<5_000 {
            let token = (0..<Int.random(in: 1...3, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random)
            }
            let hash = TokenTable.hash(token.span)
            let found = table.find(token.span, hash: hash)
            #expect(found == known[token])
            if found == nil {
                known[token] = table.insert(token.span, hash: hash, device: 0, status: TokenStatus())
            }
        }
        #expect(table.count == known.count)
        #expect(known.allSatisfy { Array(table.token($0.value)) == $0.key })
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>)
    func delayedAnswersComeInTheOrderTheyAreDue(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var delayed = DelayedAnswers()
        var expected: [(due: UInt64, order: Int32)] = []
        for order in 0..<200 as Range<Int32> {
            let due = UInt64.random(in: 0..<50, using: &random)
            delayed.add(Answer(streamID: order, messageID: (0, 0)), dueNanos: due)
            expected.append((due, order))
        }
        expected.sort { ($0.due, $0.order) < ($1.due, $1.order) }
        var taken: [Int32] = []
        for now in stride(from: 0, through: 50, by: 10) as StrideThrough<UInt64> {
            while let answer = delayed.take(nowNanos: now) { taken.append(answer.streamID) }
            #expect(taken.count == expected.count { $0.due <= now })
            #expect(delayed.nextDueNanos == expected.dropFirst(taken.count).first?.due)
        }
        #expect(taken == expected.map(\.order))
    }

    @Test func aFullTableTurnsFurtherTokensAway() async throws {
        try await Bench.run {
            $0.devicesMax = 1
        } _: { bench in
            let client = try await bench.connect()
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            #expect(try await client.send(bench.push(token: "02")).body == #"{"reason":"ServiceUnavailable"}"#)
            await client.close()
        }
    }

    @Test func violationsAreBoundedAndCounted() async throws {
        try await Bench.run {
            $0.violationsMax = 2
        } _: { bench in
            let client = try await bench.connect()
            for _ in 0..<5 { _ = try await client.send(bench.push(token: "01", priority: 7)) }
            #expect(bench.simulator.violations().count == 2)
            #expect(bench.simulator.statistics().violationsByKind == ["request": 5])
            await client.close()
        }
    }

    @Test func closedConnectionsAreForgottenInTime() async throws {
        try await Bench.run { bench in
            let count = SimulatorStatistics.closedConnectionsKeptMax + 3
            for _ in 0..<count {
                let client = try await bench.connect()
                await client.close()
            }
            let statistics = try await bench.simulator.wait {
                $0.connectionsAccepted == count && $0.connectionsOpen == 0
            }
            #expect(statistics.connections.count == SimulatorStatistics.closedConnectionsKeptMax)
        }
    }

    @Test func aCredentialDirectoryIsMadeOnceAndUsedAgain() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "mailboat-\(UUID().uuidString)").path()
        defer { try? FileManager.default.removeItem(atPath: path) }
        let now = Int64(Date().timeIntervalSince1970)
        let made = try CredentialDirectory(path: path, keyID: "ABCDE12345", names: ["localhost"], nowSeconds: now)
        let again = try CredentialDirectory(path: path, keyID: "ABCDE12345", names: ["localhost"], nowSeconds: now)
        #expect(made.credentials.authorityPEM == again.credentials.authorityPEM)
        #expect(made.credentials.certificate.privateKeyPEM == again.credentials.certificate.privateKeyPEM)
        #expect(try made.providerKey.publicKey().pem() == again.providerKey.publicKey().pem())
        for name in ["server.key", "AuthKey_ABCDE12345.p8"] {
            let attributes = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
            #expect(attributes[.posixPermissions] as? Int == 0o600)
        }
        try Data("no key".utf8).write(to: URL(filePath: made.providerKeyPath))
        #expect(throws: CredentialDirectory.Failure.self) {
            try CredentialDirectory(path: path, keyID: "ABCDE12345", names: ["localhost"], nowSeconds: now)
        }
    }

    @Test(arguments: [
        "", "a.b", "a.b.c", "eyJhbGciOiJub25lIn0.eyJpc3MiOiJURUFNNTY3ODkwIiwiaWF0IjoxfQ.AA",
        "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQ0RFMTIzNDUifQ.eyJpc3MiOiJURUFNNTY3ODkwIiwiaWF0IjoiMSJ9."
            + String(repeating: "A", count: 86),
    ])
    func whatIsNoProviderTokenIsNotTaken(token: String) {
        #expect(Self.parse(token) == nil)
    }

    private static func parse(_ token: String) -> ParsedProviderToken? {
        let bytes = Array(token.utf8)
        return ParsedProviderToken(bytes.span)
    }

    @Test func aTokenInCanonicalFormIsTakenApart() throws {
        let token =
            "eyJhbGciOiJFUzI1NiIsImtpZCI6IkFCQ0RFMTIzNDUifQ.eyJpc3MiOiJURUFNNTY3ODkwIiwiaWF0IjoxfQ."
            + String(repeating: "A", count: 86)
        let parsed = try #require(Self.parse(token))
        #expect(parsed.keyID == "ABCDE12345")
        #expect(parsed.teamID == "TEAM567890")
        #expect(parsed.issuedAtSeconds == 1)
        #expect(parsed.signature.count == 64)
        #expect(String(decoding: parsed.signedBytes, as: UTF8.self) == token.dropLast(87))
    }
}
