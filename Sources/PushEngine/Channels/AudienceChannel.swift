import APNSProtocol
import ChannelKeeping
import PushModel

extension AudienceChannels {
    enum Standing: UInt8 {
        /// The keeper has been asked for one, or will be. To `open` when it tells of one.
        case wanted = 1
        /// The keeper has opened it. To `dead` when APNs calls it gone, to `wanted` when the keeper has found that.
        case open
        /// APNs calls it gone, which the keeper will find out. To `open` when the keeper says that it is there, to `wanted` when it is not.
        case dead
    }
    /// What news of the keeper's changes.
    enum NewsEffect: Equatable {
        case nothing
        /// Something of what is written down.
        case kept
        /// Versions say something else of it.
        case declared
        /// It is given up.
        case closed
        /// The keeper knows a later life.
        case lifeIsOver
    }
    /// What a version that waits to be broadcast leads to.
    enum WaitEffect: Equatable {
        case nothing
        /// It leaves as soon as a route has room.
        case leaves
        /// Members that listen are kept waiting no longer.
        case fallsBack
    }

    /// One channel of an audience at its owner: whether there is one, what APNs has taken on it, and when the next broadcast leaves.
    struct Channel {
        let environment: PushEnvironment
        private(set) var standing = Standing.wanted
        /// As APNs spells it; empty before the first has been opened. While another is wanted, that of the one that has vanished.
        private(set) var id: [UInt8] = []
        /// Members that listen get the newest version by broadcast. Otherwise by their tokens, and phones without a token by what `isCatchingUp` says.
        private(set) var serves = false
        /// The newest version that APNs has taken on it, and the newest whose alert it has, or whose alert tokens bring in its place.
        private(set) var takenStampSeconds: Int64 = 0
        private(set) var takenAlertStampSeconds: Int64 = 0
        /// APNs has not taken a version within `channel.fallback`, and none since: five minutes after that, wall milliseconds; 0: it has. Former
        /// releases broadcast nothing before that time; here it only matters whether there is one.
        private(set) var byTokenUntilMillis: Int64 = 0
        /// The keeper has been told that the life is over.
        private(set) var isEndTold = false

        // Not written down.
        /// When the keeper is asked again, steady.
        private(set) var wishAtMillis = Int64.min
        /// Since when a version waits to be broadcast, steady; `nil`: none does.
        private(set) var dueMillis: Int64?
        /// When the last broadcast left, and before when the next does not, steady.
        private(set) var sentMillis: Int64?
        private(set) var notBeforeMillis = Int64.min
        /// A broadcast waits for a connection, or for its answer.
        private(set) var isUnderWay = false
        /// Versions up to that may have arrived though APNs was not heard to take them: they are sent again at low priority.
        private(set) var triedStampSeconds: Int64 = 0
        private var attempt: UInt8 = 0
        private var throttleSteps: UInt8 = 0
        /// The stamp of a version that goes both ways, whose broadcast has a unit of the budget for itself; 0: there is none.
        private(set) var highStampSeconds: Int64 = 0
        /// An alert up to that may have been shown by a broadcast without an answer, and is not repeated.
        private var droppedAlertStampSeconds: Int64 = 0
        /// Until when an alert of an older version waits for the tokens of the newest, steady; `nil`: it does not.
        private var tokensFirstUntilMillis: Int64?

        /// How often a keeper that does not answer is asked, minutes; and when one that has refused is.
        static let wishEveryMinutes: Int64 = 1
        static let wishAfterRefusalMinutes: Int64 = 5
        /// Former releases do not try a channel for so long after APNs has not taken a version, minutes.
        static let byTokenMinutes: Int64 = 5
        /// How often the keeper is asked about a channel that APNs calls gone, minutes.
        static let doubtEveryMinutes: Int64 = 5
        /// An operator has stopped what the audience sends: that is looked at again so often, milliseconds.
        static let pausedMillis: Int64 = 1_000
        /// Attempts for which back-off grows.
        private static let attemptMax: UInt8 = 20

        init(environment: PushEnvironment) { self.environment = environment }
        /// As a record of `state` tells it.
        init(
            environment: PushEnvironment, standing: Standing, id: [UInt8], serves: Bool = false,
            takenStampSeconds: Int64 = 0, takenAlertStampSeconds: Int64 = 0, byTokenUntilMillis: Int64 = 0,
            isEndTold: Bool = false
        ) {
            self.environment = environment
            self.standing = standing
            self.id = id
            self.serves = serves
            self.takenStampSeconds = takenStampSeconds
            self.takenAlertStampSeconds = takenAlertStampSeconds
            self.byTokenUntilMillis = byTokenUntilMillis
            self.isEndTold = isEndTold
        }

        /// APNs has not taken what was broadcast: members that listen are served by their tokens. What is newest is tried all the same, until it is
        /// taken, for phones that listen and have no token.
        var isCatchingUp: Bool { self.standing == .open && !self.serves && self.byTokenUntilMillis != 0 }
        /// What is newest is broadcast on it.
        var isTried: Bool { self.serves || self.isCatchingUp }
        /// It has not had that alert by broadcast. A member with a token may have had it by that: what goes both ways goes under the same stamp.
        func owes(_ alert: Version) -> Bool {
            guard self.isCatchingUp else { return self.serves && alert.stampSeconds > self.takenAlertStampSeconds }
            return alert.stampSeconds > max(self.takenStampSeconds, self.droppedAlertStampSeconds)
        }
        /// The broadcast of that version has priority 10. One that may have arrived has not, and one that goes both ways needs a unit of its own.
        func mayBeHigh(_ version: Version) -> Bool {
            guard version.isHigh, version.stampSeconds > self.triedStampSeconds else { return false }
            return self.serves || self.highStampSeconds == version.stampSeconds
        }

        // MARK: The keeper

        /// The keeper is to be asked for one, as long as the audience lives. One that has told of a channel looks for that in the list.
        /// - Returns: whether it is time.
        mutating func wishes(by rules: OwnerRules, now: EngineTime) -> Bool {
            guard self.standing != .open, self.wishAtMillis <= now.steadyMillis else { return false }
            let minutes = self.standing == .dead ? Self.doubtEveryMinutes : Self.wishEveryMinutes
            self.wishAtMillis = now.steadyMillis + rules.millis(ofMinutes: minutes)
            return true
        }
        /// The keeper tells what has become of it.
        /// - Parameter newestStampSeconds: of the audience's newest version; 0: there is none.
        mutating func take(
            _ news: KeeperNews, newestStampSeconds: Int64, by rules: OwnerRules, now: EngineTime
        ) -> NewsEffect {
            switch news {
            case .opened(self.id) where self.standing == .dead:
                // The keeper has looked for it, and it is there: it may not have been known everywhere yet.
                self.standing = .open
                self.byTokenUntilMillis = now.wallMillis + rules.millis(ofMinutes: Self.byTokenMinutes)
            case .opened(let opened):
                guard opened != self.id else { return .nothing }
                // The keeper has forgotten an end that it was told before there was a channel: it is told once more.
                self = Channel(environment: self.environment)
                self.standing = .open
                self.id = opened
                self.takenAlertStampSeconds = newestStampSeconds
            case .vanished(self.id):
                self.standing = .wanted
                self.serves = false
                self.dueMillis = nil
                self.wishAtMillis = now.steadyMillis + rules.millis(ofMinutes: Self.wishEveryMinutes)
            case .closed(self.id): return .closed
            case .vanished, .closed: return .nothing
            case .refused(let refusal):
                guard self.standing == .wanted, !self.isEndTold else { return .nothing }
                guard case .lifeIsOver = refusal else {
                    self.wishAtMillis = now.steadyMillis + rules.millis(ofMinutes: Self.wishAfterRefusalMinutes)
                    return .kept
                }
                self.wishAtMillis = now.steadyMillis
                return .lifeIsOver
            }
            return .declared
        }
        /// The keeper is to be told that the life is over.
        /// - Returns: whether it has not been.
        mutating func tellsEnd() -> Bool {
            defer { self.isEndTold = true }
            return !self.isEndTold
        }

        // MARK: Versions

        /// A version is made, and nothing is to be caught up with: it is left to the channel where there is one.
        mutating func versionComes() {
            self.serves = self.standing == .open
            if !self.serves { self.dueMillis = nil }
        }
        /// A version goes both ways. An alert that comes with it waits for no tokens.
        mutating func goesBothWays(_ version: Version) {
            if version.hasAlert { self.tokensFirstUntilMillis = nil }
        }
        /// Its broadcast has a unit for itself.
        mutating func hasUnit(for version: Version) { self.highStampSeconds = version.stampSeconds }
        /// Tokens bring that alert, and each before it.
        /// - Returns: whether that is new.
        mutating func leavesAlertToTokens(upTo stampSeconds: Int64) -> Bool {
            guard !self.serves, self.takenAlertStampSeconds < stampSeconds else { return false }
            self.takenAlertStampSeconds = stampSeconds
            return true
        }

        // MARK: Broadcasting

        /// A version waits to be broadcast.
        mutating func waits(isPaused: Bool, by rules: OwnerRules, now: EngineTime) -> WaitEffect {
            // From when on it could have been.
            let distance = rules.app.channelMinimumDistanceMillis
            self.dueMillis = self.dueMillis ?? max(now.steadyMillis, self.sentMillis.map { $0 + distance } ?? .min)
            if isPaused {
                self.dueMillis = now.steadyMillis
                self.notBeforeMillis = max(self.notBeforeMillis, now.steadyMillis + Self.pausedMillis)
                return .nothing
            }
            guard !self.isUnderWay else { return .nothing }
            if self.fallbackMillis(by: rules) <= now.steadyMillis { return .fallsBack }
            return self.notBeforeMillis <= now.steadyMillis ? .leaves : .nothing
        }
        /// Nothing waits.
        mutating func waitsForNothing() { self.dueMillis = nil }
        /// An alert of an older version goes along with the newest. Members that listen have had it by their tokens, perhaps with that older version: they
        /// get the newest first, and ignore the broadcast. That is not waited for longer than `channel.fallback`.
        mutating func waitsForTokens(by rules: OwnerRules, now: EngineTime) -> Bool {
            let until = self.tokensFirstUntilMillis ?? now.steadyMillis + rules.app.channelFallbackMillis
            self.tokensFirstUntilMillis = until
            return until > now.steadyMillis
        }
        /// All of them have it, or it need not be waited for.
        mutating func waitsForNoTokens() { self.tokensFirstUntilMillis = nil }
        /// One stands in the queue of its route.
        mutating func broadcastWaits() { self.isUnderWay = true }
        /// It has nothing to bring.
        mutating func broadcastWithdrawn() { self.isUnderWay = false }
        /// It leaves.
        mutating func broadcastLeaves(by rules: OwnerRules, now: EngineTime) {
            self.sentMillis = now.steadyMillis
            self.notBeforeMillis = now.steadyMillis + self.distanceMillis(by: rules)
        }
        /// APNs has taken a version, with the alert of that one; 0: with none.
        mutating func broadcastTaken(stampSeconds: Int64, alertStampSeconds: Int64) {
            self.takenStampSeconds = max(self.takenStampSeconds, stampSeconds)
            self.takenAlertStampSeconds = max(self.takenAlertStampSeconds, alertStampSeconds)
            self.attempt = 0
            if self.throttleSteps > 0 { self.throttleSteps -= 1 }
            self.dueMillis = nil
        }
        /// It has the newest that has not expired: the next one is left to the channel again.
        mutating func caughtUp() {
            // Members that are owed its alert by their tokens have it by the broadcast: see `keepsAlertsSinceSeconds`.
            if self.isCatchingUp { self.takenAlertStampSeconds = self.takenStampSeconds }
            self.byTokenUntilMillis = 0
            self.tokensFirstUntilMillis = nil
        }
        /// APNs calls it gone.
        mutating func broadcastFoundNothing() { self.standing = .dead }
        /// Nobody knows whether APNs has taken it.
        /// - Parameter dropsAlert: its alert is not repeated.
        mutating func broadcastUnanswered(stampSeconds: Int64, alertStampSeconds: Int64, dropsAlert: Bool) {
            self.triedStampSeconds = max(self.triedStampSeconds, stampSeconds)
            guard dropsAlert else { return }
            self.droppedAlertStampSeconds = max(self.droppedAlertStampSeconds, alertStampSeconds)
            self.takenAlertStampSeconds = max(self.takenAlertStampSeconds, alertStampSeconds)
        }
        /// APNs wants fewer of them.
        /// - Returns: how far the next two are apart, milliseconds.
        mutating func throttled(by rules: OwnerRules) -> Int64 {
            self.throttleSteps = min(self.throttleSteps + Dispatch.throttleStep, Dispatch.throttleStepsMax)
            return self.distanceMillis(by: rules)
        }
        /// It is tried again.
        /// - Parameter isRefused: otherwise it has not left, which is no attempt.
        /// - Returns: how often it was before.
        mutating func goesAgain(isRefused: Bool) -> UInt8 {
            defer { if isRefused, self.attempt < Self.attemptMax { self.attempt += 1 } }
            return self.attempt
        }
        /// Not before so long. What was not taken says nothing of the distance to what was; one whose answer is not known may have arrived.
        /// - Parameter distanceMillis: of what is throttled; 0: it is not.
        mutating func goesAgain(delayMillis: Int64, distanceMillis: Int64, now: EngineTime) {
            let keepsDistance = self.triedStampSeconds > self.takenStampSeconds
            self.notBeforeMillis = max(
                now.steadyMillis + delayMillis, keepsDistance ? self.notBeforeMillis : .min,
                now.steadyMillis + distanceMillis)
        }
        /// Members that listen get what is newest by their tokens.
        /// - Parameter untilMillis: what former releases wait for, wall milliseconds; 0: it is not tried before the next version.
        /// - Returns: whether they were served by it before.
        mutating func fallsBack(untilMillis: Int64) -> Bool {
            defer {
                self.serves = false
                self.dueMillis = nil
                self.attempt = 0
                self.byTokenUntilMillis = untilMillis
            }
            return self.serves
        }
        /// It comes to a new owner: what may have left just before counts towards the distance.
        /// - Parameter sinceMillis: since when the owner before has sent nothing, steady.
        mutating func takenOver(sinceMillis: Int64, newestStampSeconds: Int64, by rules: OwnerRules) {
            guard self.sentMillis == nil else { return }
            self.sentMillis = sinceMillis
            self.triedStampSeconds = newestStampSeconds
            self.notBeforeMillis = sinceMillis + rules.app.channelMinimumDistanceMillis
        }

        // MARK: When

        private func distanceMillis(by rules: OwnerRules) -> Int64 {
            Dispatch.channelDistanceMillis(rules.app.channelMinimumDistanceMillis, steps: self.throttleSteps)
        }
        /// When listeners are not kept waiting any longer, steady; `Int64.max`: none is.
        private func fallbackMillis(by rules: OwnerRules) -> Int64 {
            guard self.serves, let due = self.dueMillis else { return .max }
            return due + rules.app.channelFallbackMillis
        }
        /// When it has something to do, steady; `Int64.max`: it waits for no time.
        /// - Parameter isOver: the audience has ended.
        func nextMillis(isOver: Bool, by rules: OwnerRules, now: EngineTime) -> Int64 {
            if self.standing != .open {
                return isOver || self.isEndTold ? .max : max(self.wishAtMillis, now.steadyMillis)
            }
            guard self.dueMillis != nil, !self.isUnderWay else { return .max }
            guard self.serves else {
                let next = max(self.notBeforeMillis, self.tokensFirstUntilMillis ?? .min)
                return next > now.steadyMillis ? next : now.steadyMillis + Self.pausedMillis
            }
            let next = self.fallbackMillis(by: rules)
            return self.notBeforeMillis > now.steadyMillis ? min(next, self.notBeforeMillis) : next
        }
    }
}
