import PushModel

/// What an event without an outcome waits for, as reported by the worker.
public struct EventWait: Equatable, Sendable {
    /// A word for the cause, such as `token` or `window`.
    public var cause: String
    /// The words that follow “it waits for”.
    public var text: String
    /// When the wait ends by time alone, milliseconds since 1970; `nil`: time does not end it.
    public var untilMillis: Int64?
    /// Whether the event is given up at that time. `false`: it may be sent then.
    public var isGivenUpThen: Bool
    /// What stands instead of “Waits for …” if the card is gone, so that no token will come; `nil`: the card may be up.
    var goneText: String?

    public init(cause: String, text: String, untilMillis: Int64?, isGivenUpThen: Bool) {
        (self.cause, self.text) = (cause, text)
        (self.untilMillis, self.isGivenUpThen) = (untilMillis, isGivenUpThen)
    }

    /// Two equal waits may end this many milliseconds apart, because the worker may be asked at different moments.
    private static let untilSlackMillis: Int64 = 1_500

    /// Whether the two waits have the same text and end at nearly the same time.
    func saysTheSame(as other: EventWait?) -> Bool {
        guard let other, self.cause == other.cause, self.text == other.text,
            self.isGivenUpThen == other.isGivenUpThen, self.goneText == other.goneText
        else { return false }
        guard let mine = self.untilMillis, let its = other.untilMillis else {
            return self.untilMillis == other.untilMillis
        }
        return abs(mine - its) <= Self.untilSlackMillis
    }

    /// Whether the worker continues by itself. `false`: somebody must register a token.
    var isLeftToTheWorker: Bool { !["token", "registration"].contains(self.cause) }

    /// The words that stand before the moment when the wait ends.
    private var untilText: String {
        guard self.isGivenUpThen else { return "It may leave at" }
        return self.goneText == nil ? "It is given up at" : "The worker gives the event up at"
    }

    /// What the event waits for, in words, without when the wait ends.
    private var leadText: String { self.goneText ?? "Waits for \(self.text)." }

    /// The wait in sentences, with the moment in UTC.
    var summary: String {
        guard let until = self.untilMillis else { return self.leadText }
        let clock = CivilTime(secondsSince1970: (until + 999) / 1_000).clockText
        return "\(self.leadText) \(self.untilText) \(clock) UTC."
    }

    /// The wait as JSON for the page, which writes moments as the browser does.
    var json: JSONTree {
        [
            "cause": .string(self.cause), "text": .string(self.leadText),
            "untilText": .string(self.untilText), "untilMillis": self.untilMillis.map { .integer($0) } ?? .null,
        ]
    }
}

extension Timeline {
    /// Events that wait in the worker for one activity, channel or audience: the newest event without an outcome, and
    /// the older events without one.
    public struct Waiting: Sendable {
        /// The record's key.
        public var key: String
        /// Bundle id; empty: the events name none.
        public var app: String
        /// Whether the events go to an audience.
        public var isForAudience: Bool
        /// The partition of the newest event.
        public var partition: Int32
        /// Entries of the events.
        public var entries: [Int]
    }

    private struct WaitingKey: Hashable {
        var key: String
        var app: String
        var isForAudience: Bool
    }

    /// The events that have waited for a moment, the newest first.
    /// - Parameters:
    ///   - countMax: maximum number of activities and audiences.
    ///   - beforeMillis: only events that arrived before this, milliseconds since 1970. Later ones are still on their
    ///     way.
    public func waiting(countMax: Int, beforeMillis: Int64) -> [Waiting] {
        var found: [Waiting] = []
        var indexes: [WaitingKey: Int] = [:]
        for entry in self.entries.reversed() where entry.atMillis <= beforeMillis {
            guard case .event(let event) = entry.body, event.outcome == nil, let taken = event.reading.event,
                [.start, .update, .end].contains(taken.kind), let key = event.record.key
            else { continue }
            let name = WaitingKey(
                key: String(decoding: key, as: UTF8.self), app: taken.app, isForAudience: taken.target == .audience)
            if let index = indexes[name] {
                found[index].entries.append(entry.id)
            } else if found.count < countMax {
                indexes[name] = found.count
                found.append(
                    Waiting(
                        key: name.key, app: name.app, isForAudience: name.isForAudience,
                        partition: event.position.partition, entries: [entry.id]))
            }
        }
        return found
    }

    /// The wait with what only the timeline knows: that the card is gone, or that the activity was unregistered.
    func completed(_ wait: EventWait, activity: String) -> EventWait {
        guard !wait.isLeftToTheWorker else { return wait }
        var wait = wait
        wait.goneText = self.goneText(activity: activity)
        guard wait.cause == "token", self.phone(activity: activity)?.isUnregistered == true else { return wait }
        // The worker has forgotten the registration. Replace the first sentence of `wait.text`, and keep the others.
        let rest = wait.text.firstRange(of: ". ").map { wait.text[$0.lowerBound...] } ?? ""
        wait.text = "a token: the one under this key was unregistered, and none has been registered since\(rest)"
        return wait
    }

    /// Sets what the worker reports about waiting events. Events that have an outcome by now are left as they are.
    /// - Parameters:
    ///   - wait: `nil`: the worker does not say.
    ///   - ids: the events' entries.
    public mutating func setWait(_ wait: EventWait?, of ids: [Int]) {
        for id in ids {
            guard let entry = self.entry(id), case .event(let event) = entry.body, event.outcome == nil else {
                continue
            }
            let wait = wait.map { self.completed($0, activity: entry.activity) }
            guard wait.map({ !$0.saysTheSame(as: event.wait) }) ?? (event.wait != nil) else { continue }
            self.change(id) { entry in
                guard case .event(var event) = entry.body else { return }
                event.wait = wait
                entry.body = .event(event)
            }
            self.setPhoneWait(wait, ofEvent: id)
        }
    }
}
