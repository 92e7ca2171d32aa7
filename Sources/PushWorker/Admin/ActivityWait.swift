public import PushEngine

/// What the next push of an activity waits for, and until when. Pure: made from the reports of a shard and the worker.
public struct ActivityWait: Sendable, Equatable, Encodable {
    /// Kinds of waits, in the order in which a shard checks them. If several apply, the first is named. If several of
    /// `attempt`, `distance`, `window` and `budget` apply, the one that ends last is named.
    public enum Cause: String, Sendable, CaseIterable, Encodable {
        /// The worker does not take or send anything of the activity's partition now.
        case worker
        /// APNs has a push of the activity and has not answered.
        case answer
        /// Kafka has not acknowledged a record about the activity.
        case record
        /// The app has not given its server the token of a card that a `start` has put up.
        case registration
        /// There is no token to push to, or APNs has refused it.
        case token
        /// The last attempt has failed, and the next one is not due yet.
        case attempt
        /// The minimum distance from the previous push is not over.
        case distance
        /// A push of low priority is held back for a while, so that newer events can replace it.
        case window
        /// The hourly budget is used up, and a unit has to return.
        case budget
        /// No push of this app or environment leaves now.
        case pause
        /// The push waits until it is chosen, and for room on a connection to APNs.
        case stream
    }

    /// The kind of wait.
    public var cause: Cause
    /// A text that follows “it waits for”. It does not contain the remaining time.
    public var text: String
    /// Milliseconds until the wait ends by itself; `nil`: time alone does not end it.
    public var endsInMillis: Int64?
    /// Whether the waiting events are given up when `endsInMillis` is over. If `false`, they may leave then.
    public var isGivenUpThen = false
}

extension ActivityWait {
    /// - Parameters:
    ///   - report: the report of the activity.
    ///   - app: the app's settings.
    ///   - pauses: why nothing leaves now, in words, each about an app or a route.
    /// - Returns: `nil` when nothing waits.
    init?(_ report: ActivityReport, app: AppConfiguration, pauses: [String]) {
        if report.inFlight != nil {
            self.init(cause: .answer, text: "APNs’ answer to a push that is on its way")
        } else if let pending = report.pending {
            self = Self.wait(of: pending, report, app, pauses)
        } else if report.eventsPending > 0 {
            self.init(cause: .record, text: "Kafka to acknowledge the record of its outcome")
        } else {
            return nil
        }
    }

    /// What a pending push waits for. The checks are in the order in which a shard makes them. Of the waits that end by
    /// themselves at a known time, the longest is named.
    private static func wait(
        of pending: ActivityReport.Push, _ report: ActivityReport, _ app: AppConfiguration, _ pauses: [String]
    ) -> ActivityWait {
        if report.awaitsRecord {
            return ActivityWait(cause: .record, text: "Kafka to acknowledge the record of the previous push")
        }
        if pending.event != "start", report.token != "usable", report.token != "former" {
            return Self.token(report, app)
        }
        var wait = report.restMillis > 0 ? Self.rest(report) : nil
        let rest = wait?.endsInMillis ?? 0
        if pending.priority == "low" {
            let window = app.lowPriorityWindowMillis - pending.ageMillis
            if window > rest {
                wait = ActivityWait(
                    cause: .window,
                    text: "newer events of the activity: at priority 5 they are merged for "
                        + "\(DurationText.format(millis: app.lowPriorityWindowMillis)) "
                        + "(the worker’s setting coalescing.low-priority-window)",
                    endsInMillis: window)
            }
        } else if app.budgetPolicy == .defer, pending.event == "update", let budget = Self.budget(pending, report),
            budget.endsInMillis ?? .max > rest
        {
            wait = budget
        }
        if let wait { return wait }
        let about = pauses.filter {
            Self.names($0, bundleID: report.app) || $0.hasPrefix("route \(report.environment)")
        }
        guard about.isEmpty else { return ActivityWait(cause: .pause, text: "APNs: " + about.joined(separator: "; ")) }
        return ActivityWait(cause: .stream, text: "its turn on a connection to APNs")
    }

    /// Whether a text names this app. Another app does not count, even if its bundle id contains this one's.
    private static func names(_ text: String, bundleID: String) -> Bool {
        let words = text.split { !($0.isLetter || $0.isNumber || $0 == "." || $0 == "-") }
        // The last word of a sentence may end with a full stop.
        return words.contains { $0 == bundleID || $0 == bundleID + "." }
    }

    /// What the events of an audience wait for.
    /// - Parameter report: the report of the audience's owner.
    /// - Returns: `nil` when no event waits to become a version, and no version waits to be announced.
    public init?(_ report: AudienceReport) {
        if report.eventsPending > 0 {
            self.init(
                cause: .distance,
                text:
                    "the audience’s next version: it keeps its distance from the previous version, and at priority 5 newer events are merged with it"
            )
        } else if report.versions.contains(where: { !$0.isDurable || $0.recordsOutstanding > 0 }) {
            self.init(cause: .record, text: "Kafka to acknowledge the records that bring the version to the partitions")
        } else {
            return nil
        }
    }

    private static func token(_ report: ActivityReport, _ app: AppConfiguration) -> ActivityWait {
        let wait = DurationText.format(millis: app.registrationWaitMillis)
        switch report.token {
        case "none"
        where report.life == "starting" || report.life == "started"
            // An end after a start waits as long as the activity lives, too.
            || (report.tokenWaitMillis ?? 0) > app.registrationWaitMillis:
            return ActivityWait(
                cause: .registration,
                text:
                    "the registration of the card’s update token: a start has put the card up, and the app has to report its token"
            )
        case "none":
            return ActivityWait(
                cause: .token,
                text:
                    "a token: nobody has registered one under this key. The event is kept for \(wait) (the worker’s setting registration-wait)",
                endsInMillis: report.tokenWaitMillis, isGivenUpThen: true)
        case "doubted":
            return ActivityWait(
                cause: .token,
                text:
                    "another token, or a newer event that tries this one again: APNs has refused it, perhaps for a fault "
                    + "of this worker. The event is kept for \(wait) (the worker’s setting registration-wait)",
                endsInMillis: report.tokenWaitMillis, isGivenUpThen: true)
        default:
            return ActivityWait(
                cause: .token,
                text:
                    "another token: APNs says that the registered one is dead. The event is kept for \(wait) (the worker’s setting registration-wait)",
                endsInMillis: report.tokenWaitMillis, isGivenUpThen: true)
        }
    }

    private static func rest(_ report: ActivityReport) -> ActivityWait {
        guard report.attempts > 0 else {
            return ActivityWait(
                cause: .distance, text: "its distance from the previous push", endsInMillis: report.restMillis)
        }
        if report.earlierDeaths > 0 {
            let ignoredMax = TokenRefusalNotice.earlierDeathsIgnoredMax
            return ActivityWait(
                cause: .attempt,
                text:
                    "the next attempt: APNs has answered 410 for a time before the token was registered, \(report.earlierDeaths == 1 ? "once" : "\(report.earlierDeaths) times in a row"). "
                    + "The registration is newer, so the token is kept; after \(ignoredMax + 1) such answers in a row it is taken for dead",
                endsInMillis: report.restMillis)
        }
        let attempts = report.attempts == 1 ? "the last has failed" : "the last \(report.attempts) have failed"
        return ActivityWait(
            cause: .attempt, text: "the next attempt: \(attempts)", endsInMillis: report.restMillis)
    }

    /// The wait for a unit of the budget; `nil`: one is free.
    private static func budget(_ pending: ActivityReport.Push, _ report: ActivityReport) -> ActivityWait? {
        let budget = report.budget
        let limit = pending.hasAlert ? budget.perHour : max(0, budget.perHour - budget.reserve)
        guard budget.out >= limit else { return nil }
        let kept = pending.hasAlert || budget.reserve == 0 ? "" : ", \(budget.reserve) of them kept for alerts and ends"
        // Index in `returns` of the unit whose return leaves one unit free.
        let back = budget.out - limit
        let returns = budget.returnsInSeconds
        return ActivityWait(
            cause: .budget, text: "the hourly budget: \(budget.out) of \(budget.perHour) are spent\(kept)",
            endsInMillis: returns.indices.contains(back) ? returns[back] * 1_000 : nil)
    }
}

extension WorkerSnapshot {
    /// Why nothing of a partition is taken or sent now; `nil` when the worker works on it.
    /// - Parameter partition: the number of the partition.
    public func waitForWorker(partition: Int32) -> ActivityWait? {
        guard self.hasJoinedGroup else {
            return ActivityWait(cause: .worker, text: "the worker, which joins its consumer group")
        }
        let text: String? =
            switch self.partitions.first(where: { $0.number == partition })?.phase {
            case nil: "a worker that has partition \(partition): this one does not"
            case .waiting: "Kafka, which cannot be asked about partition \(partition)"
            case .claiming, .restoring: "the worker, which reads what it has to know of partition \(partition)"
            case .releasing: "the next worker: this one gives partition \(partition) away"
            case .inlet: "another worker: partition \(partition) has no activities"
            case .halted: "a person: partition \(partition) is halted"
            case .running: nil
            }
        return text.map { ActivityWait(cause: .worker, text: $0) }
    }
}
