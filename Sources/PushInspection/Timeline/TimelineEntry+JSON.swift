import PushModel

extension Timeline {
    /// An entry for the page and the API, without whole device tokens. Other entries that it names are looked up in the
    /// timeline.
    public func json(_ entry: TimelineEntry) -> JSONTree {
        var members: [JSONTree.Member] = [
            .init("id", .integer(entry.id)), .init("atMillis", .integer(entry.atMillis)),
            .init("activity", .string(entry.activity)),
            .init("related", .array(entry.related.map { .integer($0) })),
        ]
        switch entry.body {
        case .event(let event):
            members.append(.init("type", "event"))
            members += self.members(event, of: entry)
        case .push(let push):
            members.append(.init("type", "push"))
            members += Self.members(push)
        case .broadcast(let broadcast):
            members.append(.init("type", "broadcast"))
            members += Self.members(broadcast)
        case .note(let phone, let text):
            members += [.init("type", "note"), .init("phone", .integer(phone)), .init("text", .string(text))]
        }
        return .object(members)
    }

    private func members(_ event: TimelineEntry.Event, of entry: TimelineEntry) -> [JSONTree.Member] {
        let taken = event.reading.event
        var members: [JSONTree.Member] = [
            .init("event", .string(event.reading.kind?.name.description ?? "")),
            .init("app", .string(taken.map { $0.app.isEmpty ? self.app : $0.app } ?? "")),
            .init("priority", taken.map { .integer($0.priority) } ?? .null),
            .init("hasAlert", .bool(taken?.hasAlert ?? false)),
            .init("partition", .integer(event.position.partition)), .init("offset", .integer(event.position.offset)),
            .init("value", event.reading.shown ?? .null), .init("isByPage", .bool(event.isByPage)),
            .init("gist", .string(event.gist)), .init("text", .string(self.summary(of: entry))),
        ]
        if let rejection = event.reading.rejection {
            members.append(
                .init("rejection", ["field": .string(rejection.field), "reason": .string(rejection.reason)]))
        }
        if let outcome = event.outcome {
            members.append(.init("outcome", self.json(outcome, asked: taken)))
            // The event has its outcome, so its wait for a token is over. The wait explains why the event took
            // so long.
            if event.wait?.cause == "token" { members.append(.init("waitedFor", "a token")) }
        } else if let wait = event.wait {
            members.append(.init("wait", wait.json))
        }
        return members
    }

    private func json(_ outcome: EventOutcome, asked: EventReading.Event?) -> JSONTree {
        [
            "name": .string(outcome.name), "reason": .string(outcome.reason),
            "into": outcome.into.flatMap { self.entryID(at: $0) }.map { .integer($0) } ?? .null,
            "kept": .array(outcome.kept.map { .string($0) }),
            "status": outcome.status.map { .integer($0) } ?? .null,
            "priority": outcome.priority.map { .integer($0) } ?? .null,
            "isDowngraded": .bool(Self.isDowngraded(outcome, asked: asked)),
            "merged": outcome.merged.map { .integer($0) } ?? .null,
            "queuedMillis": outcome.queuedMillis.map { .integer($0) } ?? .null,
            "apnsMillis": outcome.apnsMillis.map { .integer($0) } ?? .null,
        ]
    }

    private static func members(_ push: TimelineEntry.Push) -> [JSONTree.Member] {
        [
            .init("phone", .integer(push.phone)), .init("apnsID", .string(push.messageID)),
            .init("gist", .string(Gist.text(alert: push.alert, changes: push.changes))),
            .init("event", .string(push.event)), .init("priority", .integer(push.priority)),
            .init("status", push.status.map { .integer($0) } ?? .null), .init("reason", .string(push.reason)),
            .init("stamp", push.stampSeconds.map { .integer($0) } ?? .null), .init("verdict", push.verdict.json),
            .init("word", .string(push.word)),
            .init("shownUntilMillis", push.shownUntilMillis.map { .integer($0) } ?? .null),
            .init("contentState", push.contentState ?? .null), .init("alert", push.alert ?? .null),
            .init("changes", .array(push.changes.map(\.json))), .init("dates", .array(push.dates.map(\.json))),
        ]
    }

    private static func members(_ broadcast: TimelineEntry.Broadcast) -> [JSONTree.Member] {
        [
            .init("channel", .string(broadcast.channel)), .init("apnsID", .string(broadcast.messageID)),
            .init("gist", .string(Gist.text(alert: broadcast.alert, changes: broadcast.changes))),
            .init("event", .string(broadcast.event)), .init("priority", .integer(broadcast.priority)),
            .init("status", broadcast.status.map { .integer($0) } ?? .null),
            .init("reason", .string(broadcast.reason)),
            .init("stamp", broadcast.stampSeconds.map { .integer($0) } ?? .null),
            .init("verdict", broadcast.verdict.json), .init("word", .string(broadcast.verdict.word.rawValue)),
            .init("contentState", broadcast.contentState ?? .null),
            .init("alert", broadcast.alert ?? .null), .init("changes", .array(broadcast.changes.map(\.json))),
            .init("dates", .array(broadcast.dates.map(\.json))),
        ]
    }

    /// Whether the event asked for priority 10 and was sent with less, because the hourly budget was spent.
    static func isDowngraded(_ outcome: EventOutcome, asked: EventReading.Event?) -> Bool {
        guard let asked, let sent = outcome.priority else { return false }
        return asked.priority > sent
    }

    // MARK: Words

    /// The result of an entry in sentences.
    public func summary(of entry: TimelineEntry) -> String {
        switch entry.body {
        case .note(_, let text): return text
        case .push(let push): return push.verdict.text
        case .broadcast(let broadcast): return broadcast.verdict.text
        case .event(let event):
            if let rejection = event.reading.rejection { return "“\(rejection.field)” \(rejection.reason)" }
            guard let outcome = event.outcome else {
                return event.wait?.summary ?? (event.isOutcomeUnread ? Self.unread : "Waits in the worker.")
            }
            let isSecondStart =
                event.reading.event?.kind == .start && outcome.isDuplicate
                && outcome.reason.hasPrefix("the activity was already started")
            if isSecondStart { return "Duplicate (\(outcome.reason)). \(self.remedy(ofSecondStart: entry.activity))" }
            let text = Self.sentence(outcome, asked: event.reading.event, entry: outcome.into.flatMap(self.entryID))
            switch Outcome(named: outcome.name) {
            case .delivered: return self.attempts(of: entry) + text
            case .late where outcome.reason == "the activity has ended":
                return self.remedy(ofUnshownEnd: entry.activity).map { "Late (\(outcome.reason)). \($0)" } ?? text
            case .superseded where self.wasTried(entry):
                return text.replacing("before it was sent", with: "before APNs had accepted it", maxReplacements: 1)
            case .applied where self.letsAnotherLeave(entry): return text + " The event before it waited for that."
            default: return text
            }
        }
    }

    /// Whether an event of the activity arrived before a registration, and was pushed after it.
    private func letsAnotherLeave(_ registration: TimelineEntry) -> Bool {
        guard case .event(let event) = registration.body, event.reading.event?.kind == .register else { return false }
        let before = self.entries.last { entry in
            guard entry.id < registration.id, entry.activity == registration.activity,
                case .event(let event) = entry.body
            else { return false }
            return [.update, .end].contains(event.reading.event?.kind)
        }
        return before.map {
            $0.related.contains { $0 > registration.id } && !$0.related.contains { $0 < registration.id }
        }
            ?? false
    }

    /// Whether a push of the event reached APNs.
    private func wasTried(_ entry: TimelineEntry) -> Bool {
        entry.related.contains { id in
            if case .push? = self.entry(id)?.body { true } else { false }
        }
    }

    /// What APNs answered to the attempts before the accepted one; empty: there were none.
    private func attempts(of entry: TimelineEntry) -> String {
        let pushes = entry.related.sorted().compactMap { id -> TimelineEntry.Push? in
            if case .push(let push)? = self.entry(id)?.body { push } else { nil }
        }
        let failed = pushes.dropLast().filter { [.refused, .unanswered].contains($0.verdict.word) }
        guard let last = pushes.last, let first = failed.last, last.status == 200 else { return "" }
        let times = failed.count == 1 ? "First" : "\(failed.count) times"
        let answer = first.status.map { "refused (\(PushVerdict.answer($0, first.reason)))" } ?? "not answered"
        let token = first.tokenShown == last.tokenShown ? "" : " with the new token"
        return "\(times) \(answer); then accepted\(token). "
    }

    private static let unread = "Its outcome was not read: too many events arrived."

    private static func sentence(_ outcome: EventOutcome, asked: EventReading.Event?, entry into: Int?) -> String {
        let because = outcome.reason.isEmpty ? "" : " (\(outcome.reason))"
        switch Outcome(named: outcome.name) {
        case .applied where asked?.kind == .unregister: return "Applied: the worker has forgotten the token."
        case .applied: return "Applied: the worker knows the token."
        case .delivered:
            var text = "Delivered: APNs accepted the push"
            if let merged = outcome.merged, merged > 1 { text += " that \(merged) events were merged into" }
            if Self.isDowngraded(outcome, asked: asked) {
                text += ", at priority \(outcome.priority ?? 5) instead of 10: the hourly budget is spent"
            }
            return text + "."
        case .superseded:
            let kept = outcome.kept.isEmpty ? "" : " Its \(outcome.kept.joined(separator: " and ")) is kept there."
            return "Superseded by \(into.map { "event \($0)" } ?? "a newer event") before it was sent\(because).\(kept)"
        case .fannedOut:
            return "Fanned out: each member of the audience gets it, or something newer\(because). "
                + "Its numbers are under Audiences."
        case .unregistered: return "Unregistered: nobody has registered a token for this activity in time."
        case .late where outcome.reason == "the activity has ended":
            return "Late\(because): start it again, or use a new key."
        // A later release may know other outcomes.
        case .late, .duplicate, .expired, .rejected, .unknown, .deadLettered, nil:
            return outcome.name.prefix(1).uppercased() + outcome.name.dropFirst() + because + "."
        }
    }
}
