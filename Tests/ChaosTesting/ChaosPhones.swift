import APNSSimulator
import DeviceModel

/// Follows the phones by the simulator's journal, and counts what reached them twice. Confined to the task that runs.
struct ChaosPhones: ~Copyable {
    private(set) var phones = JournaledPhones()
    /// What channels published, and who listened.
    private(set) var listeners = ChaosListeners()
    /// What members of audiences were pushed.
    private(set) var members: ChaosMembers
    /// What start members were pushed.
    private(set) var starters = ChaosStarters()
    /// What came to phones over a channel though they had it.
    private(set) var repeats = ChaosRepeats()
    private var reader: JournalReader
    /// The activity of each token there ever was.
    private var activities: [String: String] = [:]
    /// What each phone was pushed before: kind and content, and alerts.
    private var seen: Set<Seen> = []

    /// Tokens that have listened on a channel.
    private(set) var listened: Set<String> = []

    private(set) var pushCount = 0
    private(set) var duplicatePushCount = 0
    private(set) var duplicateAlertCount = 0
    private(set) var duplicateStartCount = 0
    /// Pushes the phones ignored, by why.
    private(set) var ignored: [String: Int] = [:]

    private struct Seen: Hashable {
        var activity: String
        var what: String
    }

    /// - Parameter distanceMillis: the least time between two pushes to a member.
    init(journalPath: String, distanceMillis: Int64) throws(JournalReader.Fault) {
        self.reader = try JournalReader(path: journalPath)
        self.members = ChaosMembers(distanceMillis: distanceMillis)
    }

    /// Tells that a token is a member's, before anything is pushed to it.
    mutating func know(member token: String) { self.members.know(token: token) }

    /// Tells that a token is a start member's, before anything is pushed to it.
    mutating func know(starter token: String) { self.starters.know(token: token) }

    /// Tells whose a token is, before anything is pushed to it.
    mutating func know(token: String, activity: String) { self.activities[token] = activity }

    /// Takes what has happened since the last call.
    /// - Parameter onPush: told of each push, whose it was and whether a new card came up by it.
    mutating func follow(_ onPush: (_ activity: String, _ atMillis: Int64, _ isNewCard: Bool) -> Void) throws {
        while let entry = try self.reader.next() {
            self.repeats.take(entry, on: self.phones)
            let reaction = self.phones.apply(entry)
            self.listeners.take(entry)
            self.note(whoListens: entry)
            guard case .push(let atMillis, let token, _, _, let body) = entry else { continue }
            self.pushCount += 1
            if self.starters.take(token: token, atMillis: atMillis, body: body) { continue }
            if self.members.take(token: token, atMillis: atMillis, body: body, reaction: reaction) {
                if let reaction, reaction != .shown { self.ignored["\(reaction)", default: 0] += 1 }
                continue
            }
            let activity = self.activities[token] ?? token
            guard let reaction, let content = try? PayloadReader.read(body.span) else { continue }
            onPush(activity, atMillis, reaction == .shown && content.event == .start)
            self.count(reaction, content, body: body, activity: activity)
        }
    }

    /// A phone that gets a new token has listened under both.
    private mutating func note(whoListens entry: JournalEntry) {
        switch entry {
        case .listening(let token, .some): self.listened.insert(token)
        case .rotation(let old, let new, _):
            if self.listened.contains(old) { self.listened.insert(new) }
        default: break
        }
    }

    private mutating func count(_ reaction: Device.Reaction, _ content: PushContent, body: [UInt8], activity: String) {
        if reaction != .shown { self.ignored["\(reaction)", default: 0] += 1 }
        // Every event has content of its own; an `end` may be without any, and there is one of it.
        let state = String(decoding: body[content.contentState], as: UTF8.self)
        if !self.seen.insert(Seen(activity: activity, what: "\(content.event) \(state)")).inserted {
            self.duplicatePushCount += 1
            if content.event == .start { self.duplicateStartCount += 1 }
        }
        guard !content.alert.isEmpty, reaction == .shown || reaction == .shownAsSecondCard else { return }
        let alert = String(decoding: body[content.alert], as: UTF8.self)
        if !self.seen.insert(Seen(activity: activity, what: "alert \(alert)")).inserted {
            self.duplicateAlertCount += 1
        }
    }
}
