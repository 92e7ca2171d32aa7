import PushModel

extension Timeline {
    /// Maximum number of entries of a search and of the first answer to a follower. Older ones are found by a search.
    public static let entriesPerAnswerMax = 300

    /// What is newer than a revision: changed phones and entries, and the ids of all that still exist. Has every
    /// changed entry, however old, because a follower may show it.
    /// - Parameter revision: 0: everything that fits one answer.
    public func changes(since revision: Int) -> JSONTree {
        let entries =
            revision == 0
            ? self.entries.suffix(Self.entriesPerAnswerMax) : self.entries[...].filter { $0.revision > revision }[...]
        let phones = self.phonesInOrder
        return [
            "revision": .integer(self.revision),
            "phones": .array(phones.filter { $0.revision > revision }.map(self.json)),
            "phoneIDs": .array(phones.map { .integer($0.id) }), "phonesMet": .integer(self.phonesMetCount),
            "entries": .array(entries.map(self.json)),
            "firstEntry": .integer(self.entries.first?.id ?? 1),
            "forgotten": .integer(self.forgottenCount),
            "audiences": .array(self.audiences.audiences.filter { $0.revision > revision }.map(\.json)),
            "sampling": self.sampling,
            "unlisted": ["events": .integer(self.unlisted.events), "pushes": .integer(self.unlisted.pushes)],
        ]
    }

    /// Entries that a search finds, newest first.
    /// - Parameter before: only entries with a lower id; `nil`: all.
    public func search(
        _ query: EntryQuery, before: Int? = nil, limit: Int = Self.entriesPerAnswerMax
    ) -> [TimelineEntry] {
        var found: [TimelineEntry] = []
        for entry in self.entries.reversed()
        where entry.id < before ?? .max && query.matches(self.facts(of: entry)) {
            found.append(entry)
            if found.count >= limit { break }
        }
        return found
    }

    /// What a search can ask about an entry: its own words, and the words of related entries.
    func facts(of entry: TimelineEntry) -> EntryFacts {
        var facts = EntryFacts(id: entry.id, activity: entry.activity)
        self.add(entry, to: &facts)
        let own = facts.words
        for id in entry.related { if let other = self.entry(id) { self.add(other, to: &facts) } }
        // A search for a kind must not find an entry by the kinds of related entries. The results of related entries
        // do count in a search.
        facts.words.subtract(Self.kindWords.subtracting(own))
        facts.text += " " + entry.activity
        return facts
    }

    private static let kindWords: Set<String> = ["event", "push", "note"]

    private func add(_ entry: TimelineEntry, to facts: inout EntryFacts) {
        switch entry.body {
        case .event(let event):
            facts.words.insert("event")
            if event.reading.rejection != nil { facts.words.insert("rejected") }
            if let kind = event.reading.kind { facts.kinds.insert(kind.name.description) }
            if let taken = event.reading.event {
                facts.apps.insert(taken.app.isEmpty ? self.app : taken.app)
                if taken.hasAlert { facts.words.insert("alert") }
            }
            facts.words.insert(event.outcome?.name ?? "pending")
            if let outcome = event.outcome, Self.isDowngraded(outcome, asked: event.reading.event) {
                facts.words.insert("downgraded")
            }
            if let outcome = event.outcome, (outcome.merged ?? 0) > 1 { facts.words.insert("merged") }
            if let status = event.outcome?.status { facts.statuses.insert(status) }
            facts.text += " " + (event.reading.shown?.text ?? "")
        case .push(let push):
            facts.words.formUnion(["push", push.verdict.word.rawValue, push.word])
            facts.kinds.insert(push.event)
            facts.phones.insert(push.phone)
            facts.messageIDs.insert(push.messageID)
            if push.alert != nil { facts.words.insert("alert") }
            if let status = push.status { facts.statuses.insert(status) }
            if let app = self.phones[push.phone]?.app { facts.apps.insert(app) }
            facts.text += " " + push.reason + " " + (push.contentState?.text ?? "")
        case .broadcast(let broadcast):
            facts.words.formUnion(["push", broadcast.verdict.word.rawValue])
            facts.kinds.insert(broadcast.event)
            if broadcast.alert != nil { facts.words.insert("alert") }
            if let status = broadcast.status { facts.statuses.insert(status) }
            facts.messageIDs.insert(broadcast.messageID)
            facts.text += " " + broadcast.reason + " " + (broadcast.contentState?.text ?? "")
        case .note(let phone, let text):
            facts.words.insert("note")
            facts.phones.insert(phone)
            facts.text += " " + text
        }
    }
}

/// What a search can ask about an entry.
struct EntryFacts: Equatable {
    var id = 0
    var activity: String
    var apps: Set<String> = []
    var kinds: Set<String> = []
    var words: Set<String> = []
    var statuses: Set<Int> = []
    var phones: Set<Int> = []
    var messageIDs: Set<String> = []
    var text = ""
}
