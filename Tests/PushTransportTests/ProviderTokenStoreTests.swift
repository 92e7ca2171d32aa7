import APNSProtocol
import Foundation
import Logging
import PushEngine
import Synchronization
import TLSSession
import Testing

@testable import PushTransport

/// The store over real key files, told the time.
@Suite struct ProviderTokenStoreTests {
    private static let gridMillis: Int64 = 2_700_000 * 629_000

    private func time(minutes: Int64) -> EngineTime {
        EngineTime(steadyMillis: minutes * 60_000, wallMillis: Self.gridMillis + minutes * 60_000)
    }

    private func withKeyFile(_ body: (String, ES256PrivateKey) throws -> Void) throws {
        let path = NSTemporaryDirectory() + "store-test-\(UUID().uuidString).p8"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let key = try ES256PrivateKey.generate()
        try self.write(key, to: path)
        try body(path, key)
    }

    private func write(_ key: ES256PrivateKey, to path: String) throws {
        try Data(key.pem()).write(to: URL(fileURLWithPath: path))
    }

    private func store(_ path: String, keyID: String = "ABCDE12345", teamID: String = "TEAM123456", minutes: Int64 = 0)
        throws
        -> ProviderTokenStore
    {
        var logger = Logger(label: "store-tests")
        logger.logLevel = .critical
        return try ProviderTokenStore(
            keys: [ProviderKey(keyID: keyID, teamID: teamID, path: path)], now: self.time(minutes: minutes),
            logger: logger)
    }

    /// Splits `bearer a.b.c` and verifies the signature over `a.b`.
    private func verifies(_ token: ProviderToken, _ key: ES256PrivateKey) throws -> Bool {
        let jwt = try #require(String(decoding: token.authorization, as: UTF8.self).split(separator: " ").last)
        let parts = jwt.split(separator: ".")
        #expect(parts.count == 3)
        var encoded = parts[2].replacing("-", with: "+").replacing("_", with: "/")
        while !encoded.count.isMultiple(of: 4) { encoded += "=" }
        let signature = try #require(Data(base64Encoded: String(encoded)))
        return try key.publicKey().verify(Array(signature), of: Array("\(parts[0]).\(parts[1])".utf8))
    }

    @Test func theFirstTokenIsThereAtOnce() throws {
        try self.withKeyFile { path, key in
            let token = try self.store(path).current(key: 0)
            #expect(token.generation == 1)
            #expect(token.issuedAtSeconds == Self.gridMillis / 1_000)
            #expect(token.authorization.starts(with: Array("bearer ".utf8)))
            #expect(try self.verifies(token, key))
        }
    }

    @Test func tokensAreRenewedAndSubscribersTold() throws {
        try self.withKeyFile { path, key in
            let store = try self.store(path)
            let told = Atomic<Int>(0)
            let subscription = store.subscribe { told.add(1, ordering: .relaxed) }
            store.tick(now: self.time(minutes: 44))
            #expect(store.current(key: 0).generation == 1)
            store.tick(now: self.time(minutes: 45))
            let token = store.current(key: 0)
            #expect(token.generation == 2)
            #expect(token.connectionEpoch == 1)
            #expect(token.issuedAtSeconds == Self.gridMillis / 1_000 + 2_700)
            #expect(try self.verifies(token, key))
            #expect(told.load(ordering: .relaxed) == 1)
            store.cancel(subscription)
            store.tick(now: self.time(minutes: 90))
            #expect(store.current(key: 0).generation == 3)
            #expect(told.load(ordering: .relaxed) == 1)
        }
    }

    @Test func aChangedKeyFileIsReadAgain() throws {
        try self.withKeyFile { path, _ in
            let store = try self.store(path)
            let other = try ES256PrivateKey.generate()
            // Replaced, not rewritten: another inode, whatever the clock's grain.
            try self.write(other, to: path + ".new")
            #expect(rename(path + ".new", path) == 0)
            store.tick(now: self.time(minutes: 1))
            let token = store.current(key: 0)
            #expect(token.connectionEpoch == 2)
            #expect(token.generation == 2)
            #expect(try self.verifies(token, other))
        }
    }

    @Test func aBrokenOrMissingKeyFileLeavesTheKeyInPlace() throws {
        try self.withKeyFile { path, key in
            let store = try self.store(path)
            try Data("not a key".utf8).write(to: URL(fileURLWithPath: path + ".new"))
            #expect(rename(path + ".new", path) == 0)
            store.tick(now: self.time(minutes: 1))
            #expect(store.current(key: 0).generation == 1)
            try FileManager.default.removeItem(atPath: path)
            store.tick(now: self.time(minutes: 45))
            #expect(store.current(key: 0).generation == 2, "the key in memory still signs")
            #expect(try self.verifies(store.current(key: 0), key))
        }
    }

    @Test func whatCannotBeUsedIsNamed() throws {
        try self.withKeyFile { path, _ in
            let missing = #expect(throws: TransportError.self) { try self.store(path + ".missing") }
            #expect(missing?.description.contains("cannot be opened: No such file or directory") == true)
            let short = #expect(throws: TransportError.self) { try self.store(path, keyID: "SHORT") }
            #expect(short?.description == "provider key SHORT: key id: \"SHORT\" has 5 characters; Apple's have 10")
            let team = #expect(throws: TransportError.self) { try self.store(path, teamID: "") }
            #expect(team?.setting == "provider key ABCDE12345: team id")
            try Data("garbage".utf8).write(to: URL(fileURLWithPath: path))
            let garbage = #expect(throws: TransportError.self) { try self.store(path) }
            #expect(garbage?.detail.hasPrefix("holds no usable private key") == true)
            try Data(count: KeyFile.byteCountMax + 1).write(to: URL(fileURLWithPath: path))
            let large = #expect(throws: TransportError.self) { try self.store(path) }
            #expect(large?.detail.contains("65537 bytes") == true)
        }
    }
}
