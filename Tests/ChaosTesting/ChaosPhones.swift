import APNSSimulator
import DeviceModel

/// Follows the phones by the simulator's journal, and counts what reached them twice. Only the task of the run uses it.
struct ChaosPhones: ~Copyable {
    private(set) var phones = JournaledPhones()
    /// Broadcasts of channels, and phones that listened.
    private(set) var listeners = ChaosListeners()
    /// Pushes to members of audiences.
    private(set) var members: ChaosMembers
    /// Pushes to start members.
    private(set) var starters = ChaosStarters()
    /// Contents that reached a phone twice because it began to listen on a channel or got a new token. The simulated
    /// phones do not recognise these repeats.
    private(set) var repeats = ChaosRepeats()
    private var reader: JournalReader
    /// Activities by token, for every token that an activity ever had.
    private var activities: [String: String] = [:]
    /// What was pushed to each activity so far: kinds of events with their contents, and alerts.
    private var seen: Set<Seen> = []

    /// Tokens that have listened on a channel.
    private(set) var listened: Set<String> = []

    private(set) var pushCount = 0
    private(set) var duplicatePushCount = 0
    private(set) var duplicateAlertCount = 0
    private(set) var duplicateStartCount = 0
    /// Number of pushes that the phones ignored, by reason.
    private(set) var ignored: [String: Int] = [:]

    private struct Seen: Hashable {
        var activity: String
        var what: String
    }

    /// Opens the journal. Throws when it cannot be read.
    /// - Parameter distanceMillis: shortest time between two pushes to a member.
    init(journalPath: String, distanceMillis: Int64) throws(JournalReader.Fault) {
        self.reader = try JournalReader(path: journalPath)
        self.members = ChaosMembers(distanceMillis: distanceMillis)
    }

    /// Registers a member's token, before anything is pushed to it.
    mutating func know(member token: String) { self.members.know(token: token) }

    /// Registers a start member's token, before anything is pushed to it.
    mutating func know(starter token: String) { self.starters.know(token: token) }

    /// Registers the activity of a token, before anything is pushed to the token.
    mutating func know(token: String, activity: String) { self.activities[token] = activity }

    /// Takes the journal's entries since the last call.
    /// - Parameter onPush: is called for each push to an activity that the phone could read. It gets the activity, the
    ///   time, and whether the push put up a new card.
    mutating func follow(_ onPush: (_ activity: String, _ atMillis: Int64, _ isNewCard: Bool) -> Void) throws {
        while let entry = try self.reader.next() {
            self.repeats.take(entry, on: self.phones)
            let reaction = self.phones.apply(entry)
            self.listeners.take(entry)
            self.remember(whoListens: entry)
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

    /// Remembers tokens that listen. A phone that gets a new token has listened under both.
    private mutating func remember(whoListens entry: JournalEntry) {
        switch entry {
        case .listening(let token, .some): self.listened.insert(token)
        case .rotation(let old, let new, _):
            if self.listened.contains(old) { self.listened.insert(new) }
        default: break
        }
    }

    private mutating func count(_ reaction: Device.Reaction, _ content: PushContent, body: [UInt8], activity: String) {
        if reaction != .shown { self.ignored["\(reaction)", default: 0] += 1 }
        // Every event has its own content. An `end` may have none, and an activity has one such event.
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
