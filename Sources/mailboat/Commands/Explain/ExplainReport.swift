import CommandSupport
import PushEngine
import PushModel

/// A verdict and its evidence, for a person or a program.
struct ExplainReport {
    let facts: ExplainFacts
    let verdict: ExplainVerdict

    /// Decides from facts.
    /// - Parameter shownMax: maximum number of events, of outcomes and of dead letters that are shown. All of them
    ///   count for the verdict.
    init(_ facts: ExplainFacts, shownMax: Int = .max) {
        self.verdict = ExplainVerdict.decide(facts)
        var facts = facts
        facts.events = Array(facts.events.prefix(shownMax))
        facts.outcomes = Array(facts.outcomes.prefix(shownMax))
        facts.letters = Array(facts.letters.prefix(shownMax))
        // A member's key is its token, which must not be shown whole.
        if facts.events.contains(where: \.isMembership) { facts.key = TokenText.shortened(facts.key) }
        self.facts = facts
    }

    // MARK: JSON for a program

    private struct Line: Encodable {
        var verdict: ExplainVerdict
        var facts: ExplainFacts
    }
    var json: String { JSONLine.text(Line(verdict: self.verdict, facts: self.facts)) }

    // MARK: Text for a person

    /// The verdict, a line for each record of the evidence, and what to do.
    var lines: [String] {
        [self.verdict.sentence] + [self.verdict.earlier?.sentence].compactMap(\.self) + [""]
            + self.facts.events.map(self.text) + self.stateLines
            + self.facts.pauses.map(self.text) + self.facts.outcomes.map(self.text) + self.facts.letters.map(self.text)
            // A log that never had a record is not shown.
            + self.facts.progress.filter { $0.endOffset > 0 }.map(self.text)
            + [self.settingsLine] + self.facts.searches.map(Self.text) + ["", "What to do:"]
            + self.verdict.next.map { "- \($0)" }
            + (self.verdict.earlier.map { ["", "About the newest valid event:"] + $0.next.map { "- \($0)" } } ?? [])
    }

    /// The first word of a line, padded: it names the kind of evidence.
    private static func head(_ word: String) -> String { word + String(repeating: " ", count: max(1, 10 - word.count)) }

    private func text(_ place: ExplainFacts.Place) -> String {
        let moment = MomentText.moment(millis: place.writtenMillis, nowMillis: self.facts.nowMillis)
        return "\(ExplainText.position(place.position))  \(moment)  "
    }

    private func text(_ event: ExplainFacts.Event) -> String {
        var words = [event.event.isEmpty ? "unreadable" : event.event]
        if let fault = event.fault { words.append(fault) }
        if let priority = event.priority { words.append("priority \(priority)") }
        if event.isForPhone { words.append("timestamp \(event.timestampSeconds)") }
        if event.hasAlert { words.append("alert") }
        if let stale = event.staleDateSeconds { words.append("stale-date \(stale)") }
        if let expires = event.expiresSeconds { words.append("expires \(expires)") }
        if let app = event.app { words.append("app \(TokenText.shortened(app))") }
        if let id = event.eventID { words.append("id \(TokenText.shortened(id))") }
        if event.place.position != event.source { words.append("forwarded from \(ExplainText.position(event.source))") }
        if let letter = event.republishedFrom {
            words.append("sent back from dead letter \(TokenText.shortened(letter))")
        }
        return Self.head("event") + self.text(event.place) + SentenceText.list(words)
    }

    private var stateLines: [String] {
        guard let state = self.facts.state else { return [] }
        let head = Self.head("state") + self.text(state.place)
        if let unreadable = state.unreadable { return [head + "UNREADABLE: \(unreadable)"] }
        guard let slot = state.slot else { return [head + "\(state.app), gone"] }
        var words = [state.app, slot.life, slot.environment]
        if slot.channel != nil {
            words.append("channel\(slot.tokenIsDead ? " (gone)" : "")")
        } else {
            let standing = slot.tokenIsDead ? " (dead)" : state.tokenIsDoubted ? " (doubted)" : ""
            words.append(slot.tokenHash.map { "token #\($0)\(standing)" } ?? "no token")
        }
        if let registered = slot.registeredMillis {
            words.append(
                "registered \(MomentText.distance(millis: registered, nowMillis: self.facts.nowMillis))")
        }
        if let deaths = state.earlierDeaths {
            words.append("410 \(deaths == 1 ? "once" : "\(deaths) times"), for a time before the registration")
        }
        if slot.frequentUpdates { words.append("frequent updates") }
        var more = [
            slot.lastAcceptedSeconds.map { "accepted up to timestamp \($0)" } ?? "nothing accepted",
            slot.lastStampSeconds.map { "last stamp \($0)" } ?? "no stamp",
        ]
        let (limit, out) = self.facts.budget
        more.append(
            "\(slot.isAudience ? "the audience's budget of versions:" : "budget") \(out) of \(limit) used, \(max(0, limit - out)) left"
                + (slot.budgetReturnsMillis.map {
                    ", the first back \(MomentText.moment(millis: $0, nowMillis: self.facts.nowMillis))"
                } ?? ""))
        if let applied = slot.applied {
            more.append("applied up to \(applied.topic)[\(state.place.position.partition)]@\(applied.offset)")
        }
        return [head + words.joined(separator: ", "), Self.head("") + more.joined(separator: ", ")]
            + slot.updates.map {
                Self.head("")
                    + Self.text(
                        $0, partition: state.place.position.partition,
                        isTokenRefused: slot.tokenIsDead || state.tokenIsDoubted)
            }
    }

    private func text(_ pause: ExplainFacts.Pause) -> String {
        Self.head("pause") + self.text(pause.place)
            + (pause.isOfApp ? "pushes to members of all audiences of the app" : "pushes to members of the audience")
    }

    private static func text(
        _ update: StateRecordDescription.Update, partition: Int32, isTokenRefused: Bool
    ) -> String {
        var words = [
            "waits: \(update.event)", "priority \(update.priority)", "timestamp \(update.timestampSeconds)",
            Self.count(update.mergedCount),
        ]
        if let stamp = update.stampSeconds { words.append("stamp \(stamp)") }
        if update.hasAlert { words.append("alert") }
        // APNs has refused the push to this token, so the push is not on the phone.
        if update.mayBeSent { words.append(isTokenRefused ? "was tried" : "may be on the phone") }
        words.append("newest \(update.newest.topic)[\(update.newest.partition ?? partition)]@\(update.newest.offset)")
        return words.joined(separator: ", ")
    }

    private func text(_ outcome: ExplainFacts.Outcome) -> String {
        var words = [outcome.outcome]
        if let reason = outcome.reason { words.append(reason) }
        if let status = outcome.status { words.append("status \(status)") }
        if let priority = outcome.priority { words.append("priority \(priority)") }
        if let merged = outcome.merged { words.append(Self.count(merged)) }
        if let queued = outcome.queuedMillis { words.append("waited \(queued) ms") }
        if let apns = outcome.apnsMillis { words.append("APNs took \(apns) ms") }
        if let into = outcome.into { words.append("into \(ExplainText.position(into))") }
        if !outcome.kept.isEmpty { words.append("kept \(outcome.kept.joined(separator: " and "))") }
        if let apnsID = outcome.apnsID { words.append("apns-id \(apnsID)") }
        if let version = outcome.version { words.append("version \(version)") }
        if let hash = outcome.tokenHash {
            words.append("token #\(hash)\(outcome.isToFormerToken ? " (the one before the newest)" : "")")
        }
        if let id = outcome.eventID { words.append("id \(TokenText.shortened(id))") }
        if let source = outcome.source { words.append("of \(ExplainText.position(source))") }
        return Self.head("outcome") + self.text(outcome.place) + SentenceText.list(words)
    }

    private static func count(_ events: Int) -> String { NumberText.count(events, "event") }

    private func text(_ letter: ExplainFacts.Letter) -> String {
        let words = [
            letter.reason, letter.source.map { "of \(ExplainText.position($0))" },
            letter.eventID.map { "id \(TokenText.shortened($0))" },
            self.facts.events.first(where: letter.wasSentBack).map {
                "sent back as \(ExplainText.position($0.place.position))"
            },
        ]
        return Self.head("letter") + self.text(letter.place) + SentenceText.list(words.compactMap(\.self))
    }

    private func text(_ progress: ExplainFacts.Progress) -> String {
        Self.head("group") + "\(self.facts.settings.group) "
            + (progress.committed.map { "has committed \(progress.topic)[\(progress.partition)] up to \($0)" }
                ?? "has never committed in \(progress.topic)[\(progress.partition)]")
            + ", the log ends at \(progress.endOffset)"
    }

    private var settingsLine: String {
        let settings = self.facts.settings
        return Self.head("settings")
            + "budget \(settings.budgetPerHour) an hour (\(settings.budgetFrequentPerHour) with frequent-updates), \(settings.budgetReserve) kept for alerts and ends, then \(settings.budgetPolicy); "
            + "window \(settings.lowPriorityWindowMillis) ms, distance \(settings.minimumDistanceMillis) ms, registration-wait \(settings.registrationWaitMillis / 1_000) s, outcomes.publish \(settings.outcomesPublish)"
            + (settings.hasFile
                ? settings.isAppConfigured ? "" : "; the app is not among those of --config: a worker's defaults"
                : "; a worker's defaults, as no --config is given ('mailboat dev' publishes all outcomes)")
    }

    private static func text(_ search: ExplainFacts.Search) -> String {
        if let problem = search.problem { return Self.head("read") + "NOT READ: \(search.topic): \(problem)" }
        return Self.head("read")
            + "\(search.topic)[\(search.partition)]: \(NumberText.count(search.recordCount, "record"))"
            + (search.isWhole
                ? ", all there are" : " from \(search.fromOffset) on, the log ends at \(search.endOffset)")
    }
}
