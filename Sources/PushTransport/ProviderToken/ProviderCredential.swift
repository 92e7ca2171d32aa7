import APNSPool
import PushModel
import Redaction
import TLSSession

/// The keys of one configured credential, the key in use, and the current token. It reads no files: the caller passes
/// their content, and APNs' answers.
struct ProviderCredential: Sendable {
    /// What was found when one key file was looked at.
    enum Finding: Sendable {
        /// The file has not changed.
        case same
        case read(KeyFile)
        /// The file cannot be used; `detail` says why. It is not read again until `mark` changes. `mark` is `nil` if
        /// the file is missing.
        case unusable(mark: KeyFile.Mark?, detail: String)
    }
    /// An event that gets a line in the log.
    enum News: Equatable {
        /// A new key was read. The newest one is used from now on, unless a new configuration names another.
        case tried(keyID: String, path: String)
        case unusable(path: String, detail: String)
        /// Another key is used, because APNs refused the previous one.
        case exchanged(from: String, to: String, reason: String)
        case accepted(keyID: String)
    }

    /// What is remembered of a key file since it was last looked at.
    struct Watched: Sendable {
        var mark: KeyFile.Mark?
        /// Hash of the file's bytes when a signer was last made from them; `nil` if none was.
        var contentHash: Int?
        /// Why the file cannot be used now; empty if it can.
        var fault = ""
    }

    private(set) var configuration: ProviderKey
    private(set) var isDirectory: Bool
    private(set) var files: [String: Watched] = [:]
    private(set) var token: ProviderToken
    private var signers: [ProviderSigner] = []
    private var choice: ProviderKeyChoice
    private var signerCount = 0

    /// - Parameter found: the key files, newest first, with what was found in them.
    /// - Throws: what is wrong, in words, if none of them can be used.
    init(
        _ configuration: ProviderKey, isDirectory: Bool, found: [(path: String, finding: Finding)], now: EngineTime
    ) throws(KeyFileError) {
        self.configuration = configuration
        self.isDirectory = isDirectory
        // This choice is only a placeholder: `self` may not be used before every property has a value.
        self.choice = ProviderKeyChoice([0])
        self.token = ProviderToken(
            generation: 0, connectionEpoch: 0, keyGeneration: 0, issuedAtSeconds: 0, authorization: [])
        for (path, finding) in found { _ = self.take(finding, path: path) }
        guard !self.signers.isEmpty else {
            throw KeyFileError(
                detail: self.files.values.map(\.fault).first { !$0.isEmpty }
                    ?? "is a directory without a key file named as Apple names them: expected AuthKey_ABC123DEFG.p8 or the like in it, or the path of one file"
            )
        }
        let preferred = self.signers.firstIndex { isDirectory && $0.keyID == configuration.keyID } ?? 0
        self.signers.insert(self.signers.remove(at: preferred), at: 0)
        self.choice = ProviderKeyChoice(self.signers.map(\.number))
        do {
            try self.handOut(now: now)
        } catch {
            throw KeyFileError(detail: "cannot sign: \(error)")
        }
    }

    var currentKeyID: String { self.current.keyID }
    private var current: ProviderSigner {
        self.signers.first { $0.number == self.choice.current } ?? self.signers[0]
    }

    /// What an operator should repair, in plain words. Pushes continue meanwhile.
    var complaints: [String] {
        var complaints: [String] = []
        if !self.isDirectory, let keyID = self.configuration.keyID,
            let named = KeyFileName.keyID(path: self.configuration.path), named != keyID
        {
            complaints.append(
                "apns.key-id is \(keyID), but \(self.configuration.shownPath ?? "its file") is named for key \(named): one of them is wrong"
            )
        }
        for (path, file) in self.files.sorted(by: { $0.key < $1.key }) where !file.fault.isEmpty {
            complaints.append(
                "provider key file \(ShownText.path(path) ?? "") \(file.fault); key \(self.currentKeyID) stays in use")
        }
        for signer in self.signers where !signer.refusal.isEmpty && signer.number != self.choice.current {
            complaints.append(
                "APNs refuses provider key \(signer.keyID) of \(ShownText.path(signer.path) ?? "a file") in \(self.configuration.environment) (\(signer.refusal)); key \(self.currentKeyID) stays in use"
            )
        }
        return complaints
    }

    // MARK: Files

    /// Takes what was found in the key files, newest first. A known file that is not among them is gone.
    mutating func look(_ found: [(path: String, finding: Finding)], now: EngineTime) throws(TLSError) -> [News] {
        var news: [News] = []
        let inUse = self.choice.current
        for path in self.files.keys where !found.contains(where: { $0.path == path }) { self.gone(path) }
        // The newest file comes last here, so that its key is the one used.
        for (path, finding) in found.reversed() {
            guard let line = self.take(finding, path: path) else { continue }
            news.append(line)
            if case .tried = line { self.choice.appeared(self.signers[self.signers.count - 1].number) }
        }
        guard self.choice.current != inUse else { return news }
        self.forgetReplaced(except: inUse)
        try self.handOut(now: now)
        return news
    }

    /// Changes to the keys of another configuration. The caller has checked that at least one of these keys can be
    /// used. The former key stays as a fallback until APNs has accepted another. If the wanted key is already in use,
    /// the token stays.
    mutating func follow(
        _ configuration: ProviderKey, isDirectory: Bool, found: [(path: String, finding: Finding)], now: EngineTime
    ) throws(TLSError) -> [News] {
        let inUse = self.choice.current
        self.configuration = configuration
        self.isDirectory = isDirectory
        self.files = [:]
        var news: [News] = []
        // The newest file comes last here, so that its key is the one used.
        for (path, finding) in found.reversed() {
            guard !self.recognizes(finding, path: path), let line = self.take(finding, path: path) else { continue }
            news.append(line)
            if case .tried = line { self.choice.appeared(self.signers[self.signers.count - 1].number) }
        }
        let isMeant: (ProviderSigner) -> Bool = { signer in
            isDirectory && configuration.keyID != nil
                ? signer.keyID == configuration.keyID : signer.path == found.first?.path
        }
        // Several signers may have the wanted id: one file may have been read under several ids or teams. The last one
        // read counts.
        if let wanted = self.signers.last(where: { isMeant($0) && self.isThere($0) && self.isConfigured($0) }) {
            self.choice.wanted(wanted.number)
        }
        // If APNs has accepted the key in use, no other key needs to be kept as a fallback.
        let isProven = self.choice.acceptance(self.choice.current) == .accepted
        if isProven || self.choice.current != inUse { self.forgetReplaced(except: isProven ? nil : inUse) }
        guard self.choice.current != inUse else { return news }
        try self.handOut(now: now)
        return news
    }

    /// The key id that tokens have for the file's key; `nil` if it is neither configured nor in the file's name.
    private func keyID(path: String) -> String? {
        let named = KeyFileName.keyID(path: path)
        return self.isDirectory ? named : self.configuration.keyID ?? named
    }

    /// Whether the signer has the key id and team id that are configured now.
    private func isConfigured(_ signer: ProviderSigner) -> Bool {
        signer.keyID == self.keyID(path: signer.path) && signer.teamID == self.configuration.teamID
    }

    /// Whether there is already a signer for the file's key and ids. If so, the signer takes the file's path.
    private mutating func recognizes(_ finding: Finding, path: String) -> Bool {
        guard case .read(let file) = finding else { return false }
        let keyID = self.keyID(path: path)
        let known = self.signers.lastIndex {
            $0.keyID == keyID && $0.teamID == self.configuration.teamID && $0.contentHash == file.bytes.hashValue
        }
        guard let known else { return false }
        self.signers[known].path = path
        self.files[path] = Watched(mark: file.mark, contentHash: self.signers[known].contentHash)
        return true
    }

    /// Whether the signer's file still has its key.
    private func isThere(_ signer: ProviderSigner) -> Bool {
        self.files[signer.path]?.contentHash == signer.contentHash
    }

    /// Takes a finding, and returns what the log should say about it. `.tried` means that a signer was added at the
    /// end.
    private mutating func take(_ finding: Finding, path: String) -> News? {
        switch finding {
        case .same:
            return nil
        case .unusable(let mark, let detail):
            let isNew = self.files[path]?.fault != detail
            self.files[path, default: Watched()].mark = mark
            self.files[path]?.fault = detail
            return isNew ? .unusable(path: path, detail: detail) : nil
        case .read(let file):
            self.files[path, default: Watched()].mark = file.mark
            guard self.files[path]?.contentHash != file.bytes.hashValue else {
                self.files[path]?.fault = ""
                return nil
            }
            do {
                let signer = try ProviderSigner(
                    number: self.signerCount, keyID: self.keyID(path: path) ?? "", teamID: self.configuration.teamID,
                    path: path, file: file)
                self.signerCount += 1
                self.signers.append(signer)
                self.files[path] = Watched(mark: file.mark, contentHash: signer.contentHash)
                return .tried(keyID: signer.keyID, path: path)
            } catch {
                return self.take(.unusable(mark: file.mark, detail: error.detail), path: path)
            }
        }
    }

    /// Handles a file that is no longer in the directory. The key in use stays until APNs refuses it.
    private mutating func gone(_ path: String) {
        if self.current.path == path {
            self.files[path]?.mark = nil
            self.files[path]?.fault = "is gone"
        } else {
            self.files[path] = nil
            for signer in self.signers where signer.path == path { self.forget(signer.number) }
        }
    }

    /// Forgets keys that their file no longer holds. Once APNs has accepted the key in use, also forgets keys whose ids
    /// are no longer configured. The key in use and the key with `number` stay.
    private mutating func forgetReplaced(except number: Int? = nil) {
        let isProven = self.choice.acceptance(self.choice.current) == .accepted
        for signer in self.signers where signer.number != number {
            guard self.isThere(signer), self.isConfigured(signer) || !isProven else {
                self.forget(signer.number)
                continue
            }
        }
    }

    private mutating func forget(_ number: Int) {
        guard number != self.choice.current else { return }
        self.choice.forget(number)
        self.signers.removeAll { $0.number == number }
    }

    // MARK: Tokens

    /// Asks the schedule of the key in use, and carries out its decision. Returns `true` if the current token has
    /// changed.
    mutating func carryOut(
        now: EngineTime, _ decide: (inout ProviderTokenSchedule) -> ProviderTokenSchedule.Decision
    ) throws(TLSError) -> Bool {
        guard let index = self.signers.firstIndex(where: { $0.number == self.choice.current }) else { return false }
        switch try self.signers[index].carryOut(now: now, decide) {
        case .none: return false
        case .signed(let isAheadOfSchedule):
            self.hand(self.signers[index], isAheadOfSchedule ? .aheadOfSchedule : .scheduled)
        case .returned: self.hand(self.signers[index], .returned)
        }
        return true
    }

    /// Makes a token of the key in use the current one. Called after another key was chosen.
    private mutating func handOut(now: EngineTime) throws(TLSError) {
        guard let index = self.signers.firstIndex(where: { $0.number == self.choice.current }) else { return }
        _ = try self.signers[index].carryOut(now: now) { $0.due(now: now) }
        self.hand(self.signers[index], .ofAnotherKey)
    }

    private enum TokenKind { case scheduled, aheadOfSchedule, returned, ofAnotherKey }

    private mutating func hand(_ signer: ProviderSigner, _ kind: TokenKind) {
        guard let signed = signer.current else { return }
        let generation = self.token.generation + 1
        let isForNewConnections = kind == .aheadOfSchedule || kind == .ofAnotherKey
        self.token = ProviderToken(
            generation: generation, connectionEpoch: self.token.connectionEpoch + (isForNewConnections ? 1 : 0),
            isReturn: kind == .returned,
            keyGeneration: kind == .ofAnotherKey ? generation : self.token.keyGeneration,
            isUnproven: self.choice.acceptance(signer.number) != .accepted, isOnTrial: self.choice.isOnTrial,
            issuedAtSeconds: signed.issuedAtSeconds, authorization: signed.authorization)
    }

    // MARK: APNs' answers

    /// Marks the key in use as accepted by APNs.
    mutating func accepted() -> News? {
        guard self.choice.accepted(self.choice.current) else { return nil }
        for index in self.signers.indices where self.signers[index].number == self.choice.current {
            self.signers[index].refusal = ""
        }
        self.token.isUnproven = false
        self.token.isOnTrial = false
        self.forgetReplaced()
        return .accepted(keyID: self.currentKeyID)
    }

    /// Marks the key in use as refused by APNs. Changes to another key, if one may work.
    mutating func refused(reason: String, now: EngineTime) throws(TLSError) -> News? {
        let before = self.current
        for index in self.signers.indices where self.signers[index].number == before.number {
            self.signers[index].refusal = reason
        }
        guard self.choice.currentRefused(nowMillis: now.steadyMillis) else { return nil }
        try self.handOut(now: now)
        return .exchanged(from: before.keyID, to: self.currentKeyID, reason: reason)
    }
}
