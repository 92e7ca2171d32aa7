import APNSProtocol
import Foundation
import Logging
import PushModel
import Synchronization
import TLSSession
import Testing

@testable import PushTransport

/// Tests of `ProviderTokenStore` with real key files. Each test sets the time itself.
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

    private func store(_ path: String, keyID: String? = "ABCDE12345", teamID: String = "TEAM123456", minutes: Int64 = 0)
        throws
        -> ProviderTokenStore
    {
        var logger = Logger(label: "store-tests")
        logger.logLevel = .critical
        return try ProviderTokenStore(
            keys: [ProviderKey(keyID: keyID, teamID: teamID, path: path)], now: self.time(minutes: minutes),
            logger: logger)
    }

    /// Splits `bearer a.b.c`, and verifies that `c` is the signature of `a.b`.
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
            // The file is replaced by another file. Its inode differs even if the file system's clock is coarse.
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

    // MARK: A new configuration

    @Test func anotherFileAndIDAreTakenOver() throws {
        try self.withKeyFile { path, key in
            let store = try self.store(path)
            let next = try ES256PrivateKey.generate()
            let other = path + "-next"
            defer { try? FileManager.default.removeItem(atPath: other) }
            try self.write(next, to: other)
            let told = Atomic<Int>(0)
            _ = store.subscribe { told.add(1, ordering: .relaxed) }
            let change = try store.read([ProviderKey(keyID: "NEXTK12345", teamID: "TEAM123456", path: other)])
            #expect(store.currentKeyID(key: 0) == "ABCDE12345", "nothing has changed yet")
            store.use(change, now: self.time(minutes: 1))
            var token = store.current(key: 0)
            #expect(store.currentKeyID(key: 0) == "NEXTK12345")
            #expect(try self.verifies(token, next))
            #expect(token.generation == 2 && token.connectionEpoch == 2 && token.isOnTrial)
            #expect(told.load(ordering: .relaxed) == 1)
            // APNs refuses the new key, and the store returns to the former key.
            store.reportInvalid(key: 0, generation: 2, reason: "InvalidProviderToken", now: self.time(minutes: 2))
            token = store.current(key: 0)
            #expect(store.currentKeyID(key: 0) == "ABCDE12345")
            #expect(try self.verifies(token, key))
            #expect(store.complaints.contains { $0.contains("NEXTK12345") })
            // The former key is configured again. It is already in use, so nothing changes.
            let again = try store.read([ProviderKey(keyID: "ABCDE12345", teamID: "TEAM123456", path: path)])
            store.use(again, now: self.time(minutes: 3))
            #expect(store.currentKeyID(key: 0) == "ABCDE12345")
            #expect(told.load(ordering: .relaxed) == 2, "it is the one in use")
            store.tick(now: self.time(minutes: 4))
            #expect(store.currentKeyID(key: 0) == "ABCDE12345")
        }
    }

    @Test func onlyTheIDOfAKeyIsCorrected() throws {
        try self.withKeyFile { path, key in
            let store = try self.store(path)
            store.use(
                try store.read([ProviderKey(keyID: "RIGHT12345", teamID: "TEAM123456", path: path)]),
                now: self.time(minutes: 1))
            #expect(store.currentKeyID(key: 0) == "RIGHT12345")
            #expect(try self.verifies(store.current(key: 0), key))
        }
    }

    /// A wrong key id or team id is not used again after the right one is configured for the same file.
    @Test(arguments: [("WRONG12345", "TEAM123456"), ("ABCDE12345", "WRONGTEAM1")], [false, true])
    func aWrongIDThatIsPutRightIsNotUsedAgain(wrong: (keyID: String, teamID: String), isRefused: Bool) throws {
        func claims(_ store: ProviderTokenStore) throws -> String {
            let token = String(decoding: store.current(key: 0).authorization, as: UTF8.self)
            let parts = try #require(token.split(separator: " ").last).split(separator: ".").prefix(2)
            return parts.map { part in
                let padded = part + String(repeating: "=", count: (4 - part.utf8.count % 4) % 4)
                let base64 = padded.replacing("-", with: "+").replacing("_", with: "/")
                return String(decoding: Data(base64Encoded: String(base64)) ?? Data(), as: UTF8.self)
            }.joined()
        }
        try self.withKeyFile { path, key in
            let store = try self.store(path)
            for (isProven, began) in [(false, 0), (true, 10)] as [(Bool, Int64)] {
                if isProven { store.accept(key: 0, generation: store.current(key: 0).generation) }
                store.use(
                    try store.read([ProviderKey(keyID: wrong.keyID, teamID: wrong.teamID, path: path)]),
                    now: self.time(minutes: began + 1))
                var text = try claims(store)
                #expect(text.contains(wrong.keyID) && text.contains(wrong.teamID))
                if isRefused { self.refuse(store, minutes: began + 2) }
                store.use(
                    try store.read([ProviderKey(keyID: "ABCDE12345", teamID: "TEAM123456", path: path)]),
                    now: self.time(minutes: began + 3))
                for minute in began + 3...began + 5 as ClosedRange<Int64> {
                    text = try claims(store)
                    #expect(text.contains("ABCDE12345") && text.contains("TEAM123456"), "\(text)")
                    #expect(try self.verifies(store.current(key: 0), key))
                    store.tick(now: self.time(minutes: minute))
                }
                if isProven { #expect(store.complaints == [], "the wrong one is forgotten") }
            }
        }
    }

    /// The store ignores what it read from a key file if another file was configured meanwhile.
    @Test func aLookThatWasOvertakenChangesNothing() throws {
        try self.withKeyFile { path, _ in
            let store = try self.store(path)
            let next = try ES256PrivateKey.generate()
            let other = path + "-next"
            defer { try? FileManager.default.removeItem(atPath: other) }
            try self.write(next, to: other)
            let change = try store.read([ProviderKey(keyID: "NEXTK12345", teamID: "TEAM123456", path: other)])
            // The former file gets a new key. The store reads it, but must not use it under the new id.
            try self.write(try ES256PrivateKey.generate(), to: path + ".new")
            #expect(rename(path + ".new", path) == 0)
            store.lookAtFiles(0, now: self.time(minutes: 1)) { store.use(change, now: self.time(minutes: 1)) }
            #expect(store.currentKeyID(key: 0) == "NEXTK12345")
            #expect(try self.verifies(store.current(key: 0), next))
            store.tick(now: self.time(minutes: 2))
            #expect(try self.verifies(store.current(key: 0), next))
            #expect(store.complaints == [])
        }
    }

    @Test func aKeyMoreIsAddedBehindTheOthers() throws {
        try self.withKeyFile { path, key in
            let store = try self.store(path)
            let known = ProviderKey(keyID: "ABCDE12345", teamID: "TEAM123456", path: path)
            let more = ProviderKey(keyID: "OTHER12345", teamID: "TEAM654321", path: path)
            #expect(try store.read([known]).isEmpty)
            store.use(try store.read([known, more], now: self.time(minutes: 1)), now: self.time(minutes: 1))
            #expect(store.keyCount == 2)
            #expect(store.currentKeyID(key: 1) == "OTHER12345")
            #expect(store.current(key: 0).generation == 1)
            #expect(throws: TransportError.self) {
                _ = try store.read([known, ProviderKey(keyID: "OTHER12345", teamID: "TEAM654321", path: path + ".no")])
            }
            store.tick(now: self.time(minutes: 45))
            #expect(store.current(key: 1).generation == 2)
        }
    }

    // MARK: A change of the key

    /// Runs `body` with a directory of one key for each of `names`. The files of later names are newer.
    private func withKeys(_ names: [String], _ body: (String, [ES256PrivateKey]) throws -> Void) throws {
        let directory = NSTemporaryDirectory() + "store-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var keys: [ES256PrivateKey] = []
        for (age, name) in names.reversed().enumerated() {
            keys.insert(try ES256PrivateKey.generate(), at: 0)
            try self.put(keys[0], name, in: directory, age: names.count - age)
        }
        try body(directory, keys)
    }

    /// Puts a complete key file in place in one step, as an operator does. The file was changed `age` hours ago.
    private func put(_ key: ES256PrivateKey, _ name: String, in directory: String, age: Int = 0) throws {
        let path = "\(directory)/AuthKey_\(name).p8"
        try self.write(key, to: path + ".new")
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -3_600 * Double(age))], ofItemAtPath: path + ".new")
        #expect(rename(path + ".new", path) == 0)
    }

    private func refuse(_ store: ProviderTokenStore, minutes: Int64) {
        store.reportInvalid(
            key: 0, generation: store.current(key: 0).generation, reason: "InvalidProviderToken",
            now: self.time(minutes: minutes))
    }

    @Test func aNewKeyInAnOldFileThatAPNsRefusesLeavesTheOldOneInUse() throws {
        try self.withKeyFile { path, key in
            let store = try self.store(path)
            let other = try ES256PrivateKey.generate()
            try self.write(other, to: path + ".new")
            #expect(rename(path + ".new", path) == 0)
            store.tick(now: self.time(minutes: 1))
            let tried = store.current(key: 0)
            #expect(try self.verifies(tried, other))
            #expect(tried.isUnproven && tried.isOnTrial && tried.keyGeneration == tried.generation)
            self.refuse(store, minutes: 1)
            let token = store.current(key: 0)
            #expect(try self.verifies(token, key), "the key that worked signs again")
            #expect(token.connectionEpoch == 3, "connections of the refused key are left")
            #expect(token.issuedAtSeconds == Self.gridMillis / 1_000, "with the token it had")
            #expect(
                store.complaints == [
                    "APNs refuses provider key ABCDE12345 of \(path) in production (InvalidProviderToken); key ABCDE12345 stays in use"
                ])
            // The wrong key is not tried again while its file stays the same.
            for minute in 2...60 as ClosedRange<Int64> { store.tick(now: self.time(minutes: minute)) }
            #expect(try self.verifies(store.current(key: 0), key))
            // The right key replaces the wrong key.
            let right = try ES256PrivateKey.generate()
            try self.write(right, to: path + ".new")
            #expect(rename(path + ".new", path) == 0)
            store.tick(now: self.time(minutes: 61))
            #expect(try self.verifies(store.current(key: 0), right))
            #expect(store.complaints == [])
        }
    }

    @Test func theNewestKeyOfADirectoryIsUsedAndItsNameIsItsID() throws {
        try self.withKeys(["NEWKEY1234", "OLDKEY1234"]) { directory, keys in
            let store = try self.store(directory, keyID: nil)
            #expect(store.currentKeyID(key: 0) == "NEWKEY1234")
            #expect(try self.verifies(store.current(key: 0), keys[0]))
            let preferred = try self.store(directory, keyID: "OLDKEY1234")
            #expect(preferred.currentKeyID(key: 0) == "OLDKEY1234")
        }
    }

    @Test func aKeyThatAppearsIsTriedAndTheOneBeforeIsKept() throws {
        try self.withKeys(["OLDKEY1234"]) { directory, keys in
            let store = try self.store(directory, keyID: nil)
            let told = Atomic<Int>(0)
            _ = store.subscribe { told.add(1, ordering: .relaxed) }
            let new = try ES256PrivateKey.generate()
            try self.put(new, "NEWKEY1234", in: directory)
            store.tick(now: self.time(minutes: 1))
            #expect(store.currentKeyID(key: 0) == "NEWKEY1234" && told.load(ordering: .relaxed) == 1)
            #expect(try self.verifies(store.current(key: 0), new))
            #expect(store.complaints == [])
            // The old key is revoked and removed later. That changes nothing.
            try FileManager.default.removeItem(atPath: directory + "/AuthKey_OLDKEY1234.p8")
            store.tick(now: self.time(minutes: 2))
            #expect(store.currentKeyID(key: 0) == "NEWKEY1234" && told.load(ordering: .relaxed) == 1)
            #expect(store.complaints == [])
        }
    }

    @Test func aRevokedKeyGivesWayToTheOther() throws {
        try self.withKeys(["NEWKEY1234", "OLDKEY1234"]) { directory, keys in
            let store = try self.store(directory, keyID: nil)
            self.refuse(store, minutes: 1)
            #expect(store.currentKeyID(key: 0) == "OLDKEY1234")
            #expect(store.complaints.count == 1 && store.complaints[0].contains("NEWKEY1234"))
            // When both keys are refused, the store does not switch back and forth.
            self.refuse(store, minutes: 2)
            #expect(store.currentKeyID(key: 0) == "OLDKEY1234")
            self.refuse(store, minutes: 12)
            #expect(store.currentKeyID(key: 0) == "NEWKEY1234", "each has another chance after a while")
        }
    }

    @Test func theKeyInUseOutlivesItsFile() throws {
        try self.withKeys(["OLDKEY1234"]) { directory, keys in
            let store = try self.store(directory, keyID: nil)
            try FileManager.default.removeItem(atPath: directory + "/AuthKey_OLDKEY1234.p8")
            store.tick(now: self.time(minutes: 45))
            #expect(try self.verifies(store.current(key: 0), keys[0]))
            #expect(store.current(key: 0).generation == 2)
            #expect(store.complaints.count == 1 && store.complaints[0].contains("is gone"))
            try self.put(keys[0], "OLDKEY1234", in: directory)
            store.tick(now: self.time(minutes: 46))
            #expect(store.complaints == [] && store.current(key: 0).generation == 2)
        }
    }

    @Test func complaintsAreToldWhenTheyChange() throws {
        try self.withKeyFile { path, key in
            let store = try self.store(path)
            let told = Mutex<[[String]]>([])
            store.watchComplaints { complaints in told.withLock { $0.append(complaints) } }
            try Data("not a key".utf8).write(to: URL(fileURLWithPath: path + ".new"))
            #expect(rename(path + ".new", path) == 0)
            for minute in 1...3 as ClosedRange<Int64> { store.tick(now: self.time(minutes: minute)) }
            let broken = try #require(store.complaints.first)
            #expect(broken.hasPrefix("provider key file \(path) holds no usable key"))
            #expect(broken.hasSuffix("key ABCDE12345 stays in use"))
            try self.write(key, to: path)
            store.tick(now: self.time(minutes: 4))
            #expect(told.withLock { $0 } == [[], [broken], []])
            #expect(store.current(key: 0).generation == 1, "the same key is no new one")
        }
    }

    @Test func aKeyIDThatDisagreesWithTheNameIsNamed() throws {
        try self.withKeys(["NAMEDKEY12"]) { directory, _ in
            let path = directory + "/AuthKey_NAMEDKEY12.p8"
            let store = try self.store(path, keyID: "ABCDE12345")
            #expect(
                store.complaints == [
                    "apns.key-id is ABCDE12345, but \(path) is named for key NAMEDKEY12: one of them is wrong"
                ])
            #expect(try self.store(path, keyID: "NAMEDKEY12").complaints == [])
            #expect(try self.store(path, keyID: nil).currentKeyID(key: 0) == "NAMEDKEY12")
        }
    }

    @Test func aDirectoryWithoutAKeyIsNamed() throws {
        try self.withKeys([]) { directory, _ in
            let empty = #expect(throws: TransportError.self) { try self.store(directory, keyID: nil) }
            #expect(empty?.detail.contains("AuthKey_ABC123DEFG.p8") == true)
        }
        try self.withKeyFile { path, _ in
            let nameless = #expect(throws: TransportError.self) { try self.store(path, keyID: nil) }
            #expect(nameless?.detail.contains("give apns.key-id") == true)
        }
    }

    @Test func whatCannotBeUsedIsNamed() throws {
        try self.withKeyFile { path, _ in
            let missing = #expect(throws: TransportError.self) { try self.store(path + ".missing") }
            #expect(missing?.description.contains("cannot be opened: No such file or directory") == true)
            #expect(missing?.description.contains("relative") == false)
            let relative = #expect(throws: TransportError.self) { try self.store("nowhere/AuthKey_ABCDE12345.p8") }
            #expect(
                relative?.description.contains("relative to the directory in which this process was started") == true)
            let short = #expect(throws: TransportError.self) { try self.store(path, keyID: "SHORT") }
            #expect(short?.description == "provider key SHORT: key id: has 5 characters; Apple's have 10")
            let team = #expect(throws: TransportError.self) { try self.store(path, teamID: "") }
            #expect(team?.setting == "provider key ABCDE12345: team id")
            try Data("garbage".utf8).write(to: URL(fileURLWithPath: path))
            let garbage = #expect(throws: TransportError.self) { try self.store(path) }
            #expect(
                garbage?.detail
                    == "holds no usable key: expected an unencrypted private key in PEM (-----BEGIN PRIVATE KEY-----), found no PEM"
            )
            let directory = NSTemporaryDirectory() + "store-test-\(UUID().uuidString).p8"
            try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
            defer { try? FileManager.default.removeItem(atPath: directory) }
            let empty = #expect(throws: TransportError.self) { try self.store(directory) }
            #expect(
                empty?.description
                    == "provider key ABCDE12345: file \(directory): is a directory without a key file named as Apple names them: expected AuthKey_ABC123DEFG.p8 or the like in it, or the path of one file"
            )
            try Data(count: KeyFile.byteCountMax + 1).write(to: URL(fileURLWithPath: path))
            let large = #expect(throws: TransportError.self) { try self.store(path) }
            #expect(large?.detail.contains("65537 bytes") == true)
        }
    }
}
