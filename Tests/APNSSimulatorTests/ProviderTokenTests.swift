import APNSSimulator
import TLSSession
import Testing

/// Tests of the rules for provider tokens (JWTs) on a connection.
@Suite(.timeLimit(.minutes(5))) struct ProviderTokenTests {
    private static func reason(_ response: TestResponse) -> String {
        response.status == 200 ? "200" : String(response.body.dropFirst(11).prefix { $0 != "\"" })
    }

    @Test(
        arguments: [(-3_600, "200"), (-3_601, "ExpiredProviderToken"), (3_600, "200"), (3_601, "InvalidProviderToken")]
            as [(Int64, String)])
    func issueTimeLiesWithinAnHour(offset: Int64, expected: String) async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let token = try bench.jwt(issuedAt: Bench.startSeconds + offset)
            #expect(Self.reason(try await client.send(bench.push(token: "01", jwt: token))) == expected)
            await client.close()
        }
    }

    @Test func differentTokensAreCountedOnAllConnectionsTogether() async throws {
        try await Bench.run { bench in
            let clients = [try await bench.connect(), try await bench.connect()]
            for client in clients { #expect(try await client.send(bench.push(token: "01")).status == 200) }
            #expect(bench.simulator.statistics().providerTokens == 1)
            let other = try bench.jwt(issuedAt: Bench.startSeconds + 1)
            #expect(try await clients[0].send(bench.push(token: "01", jwt: other)).status == 200)
            #expect(bench.simulator.statistics().providerTokens == 2)
            for client in clients { await client.close() }
        }
    }

    @Test func anAcceptedTokenExpiresOnItsConnection() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            bench.advance(millis: 3_601_000)
            #expect(Self.reason(try await client.send(bench.push(token: "01"))) == "ExpiredProviderToken")
            await client.close()
        }
    }

    @Test func aSignatureOfAnotherKeyAnUnknownKeyAndAnotherTeamAreInvalid() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let foreign = try ES256PrivateKey.generate()
            for token in [
                try bench.jwt(key: foreign), try bench.jwt(keyID: "UNKNOWN123"), try bench.jwt(teamID: "OTHERTEAM1"),
                String(bench.standardJWT.dropLast(2)), bench.standardJWT + "=",
            ] {
                #expect(
                    Self.reason(try await client.send(bench.push(token: "01", jwt: token))) == "InvalidProviderToken")
            }
            #expect(bench.simulator.violations().map(\.detail) == Array(repeating: "InvalidProviderToken", count: 5))
            await client.close()
        }
    }

    @Test func aTokenThatChangesTwiceIn20MinutesIsTooOften() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let tokens = try (0..<4).map { try bench.jwt(issuedAt: Bench.startSeconds + $0) }
            func push(_ index: Int) async throws -> String {
                Self.reason(try await client.send(bench.push(token: "01", jwt: tokens[index])))
            }
            #expect(try await push(0) == "200")
            #expect(try await push(1) == "200")
            bench.advance(millis: 1_199_999)
            #expect(try await push(2) == "TooManyProviderTokenUpdates")
            // A push with the former token does not count as an update of the token.
            #expect(try await push(1) == "200")
            bench.advance(millis: 1)
            #expect(try await push(2) == "200")
            #expect(bench.simulator.violations().map(\.kind) == [.providerTokenUpdatedTooOften])
            // Updates are counted for each connection separately.
            let other = try await bench.connect()
            #expect(try await other.send(bench.push(token: "01", jwt: tokens[3])).status == 200)
            await client.close()
            await other.close()
        }
    }

    @Test func theFirstPushTiesTheConnectionToItsKey() async throws {
        try await Bench.run { bench in
            let second = try ES256PrivateKey.generate()
            bench.simulator.register(
                RegisteredKey(keyID: "SECONDKEY1", teamID: Bench.teamID, publicKey: try second.publicKey()))
            let client = try await bench.connect()
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            let token = try bench.jwt(keyID: "SECONDKEY1", key: second)
            #expect(Self.reason(try await client.send(bench.push(token: "01", jwt: token))) == "UnrelatedKeyIdInToken")
            let other = try await bench.connect()
            #expect(try await other.send(bench.push(token: "01", jwt: token)).status == 200)
            await client.close()
            await other.close()
        }
    }

    @Test func aKeyMayBeForTheOtherEnvironmentOrOtherApps() async throws {
        try await Bench.run { bench in
            let publicKey = try bench.key.publicKey()
            bench.simulator.register(
                RegisteredKey(keyID: Bench.keyID, teamID: Bench.teamID, publicKey: publicKey, environment: .development)
            )
            let client = try await bench.connect()
            #expect(Self.reason(try await client.send(bench.push(token: "01"))) == "BadEnvironmentKeyIdInToken")
            bench.simulator.register(
                RegisteredKey(
                    keyID: Bench.keyID, teamID: Bench.teamID, publicKey: publicKey, apps: ["com.example.game"]))
            #expect(Self.reason(try await client.send(bench.push(token: "01"))) == "TopicDisallowed")
            await client.close()
        }
    }

    @Test func aRevokedKeyIsRefusedOnOpenConnectionsToo() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            bench.simulator.revokeKey(id: Bench.keyID)
            #expect(Self.reason(try await client.send(bench.push(token: "01"))) == "InvalidProviderToken")
            await client.close()
        }
    }

    @Test func signaturesMayGoUnchecked() async throws {
        try await Bench.run {
            $0.checksSignatures = false
        } _: { bench in
            let client = try await bench.connect()
            let token = try bench.jwt(keyID: "WHATEVER12", key: try ES256PrivateKey.generate())
            #expect(try await client.send(bench.push(token: "01", jwt: token)).status == 200)
            await client.close()
        }
    }
}
