import APNSProtocol
import ChannelKeeping
import PushModel

extension AudienceChannels {
    enum Standing: UInt8 {
        /// The keeper has been asked for a channel, or will be. To `open` when it reports one.
        case wanted = 1
        /// The keeper has opened the channel. To `dead` when APNs calls it gone, to `wanted` when the keeper has found
        /// that.
        case open
        /// APNs calls the channel gone, which the keeper will check. To `open` when the keeper says that it exists, to
        /// `wanted` when it does not.
        case dead
    }
    /// What the keeper's news changes.
    enum NewsEffect: Equatable {
        case nothing
        /// Something that is written down.
        case kept
        /// What versions say of the channel.
        case declared
        /// The channel is given up.
        case closed
        /// The keeper knows a later life.
        case lifeIsOver
    }
    /// What a version that waits to be broadcast leads to.
    enum WaitEffect: Equatable {
        case nothing
        /// The broadcast leaves as soon as a route has room.
        case leaves
        /// Members that listen are served by their tokens and wait no longer.
        case fallsBack
    }

    /// One channel of an audience at its owner: whether it exists, what APNs has taken on it, and when the next
    /// broadcast leaves.
    struct Channel {
        let environment: PushEnvironment
        private(set) var standing = Standing.wanted
        /// The id as APNs spells it. Empty before the first channel has been opened. While another is wanted, that of
        /// the channel that has vanished.
        private(set) var id: [UInt8] = []
        /// Whether members that listen get the newest version by broadcast. Otherwise they get it by their tokens, and
        /// phones without a token as `isCatchingUp` says.
        private(set) var serves = false
        /// Stamp of the newest version that APNs has taken on the channel.
        private(set) var takenStampSeconds: Int64 = 0
        /// Stamp of the newest version whose alert APNs has taken on the channel, or whose alert tokens bring in its place.
        private(set) var takenAlertStampSeconds: Int64 = 0
        /// Set if APNs has not taken a version within `channel.fallback`, and none since: five minutes after that, wall
        /// milliseconds. Otherwise 0. Former releases broadcast nothing before that time; here it only matters whether
        /// it is set.
        private(set) var byTokenUntilMillis: Int64 = 0
        /// Whether the keeper has been told that the life is over.
        private(set) var isEndTold = false

        // The following is not written down.
        /// When the keeper is asked again, steady.
        private(set) var wishAtMillis = Int64.min
        /// Since when a version waits to be broadcast, steady; `nil`: none does.
        private(set) var dueMillis: Int64?
        /// When the last broadcast left, and the earliest time of the next, steady.
        private(set) var sentMillis: Int64?
        private(set) var notBeforeMillis = Int64.min
        /// Whether a broadcast waits for a connection, or for its answer.
        private(set) var isUnderWay = false
        /// The newest version that may have arrived although no answer said so. Versions up to it are sent again at low
        /// priority.
        private(set) var triedStampSeconds: Int64 = 0
        private var attempt: UInt8 = 0
        private var throttleSteps: UInt8 = 0
        /// Stamp of a version that goes both ways, whose broadcast has a unit of the budget for itself; 0: there is
        /// none.
        private(set) var highStampSeconds: Int64 = 0
        /// Stamp up to which an alert may have been shown by a broadcast without an answer, and is not repeated.
        private var droppedAlertStampSeconds: Int64 = 0
        /// Until when an alert of an older version waits for the tokens of the newest, steady; `nil`: it does not.
        private var tokensFirstUntilMillis: Int64?

        /// Minutes between questions to a keeper that does not answer, and to one that has refused.
        static let wishEveryMinutes: Int64 = 1
        static let wishAfterRefusalMinutes: Int64 = 5
        /// Minutes for which former releases do not try a channel after APNs has not taken a version.
        static let byTokenMinutes: Int64 = 5
        /// Minutes between questions to the keeper about a channel that APNs calls gone.
        static let doubtEveryMinutes: Int64 = 5
        /// How often a stop by an operator is looked at again, milliseconds.
        static let pausedMillis: Int64 = 1_000
        /// Number of attempts for which back-off grows.
        private static let attemptMax: UInt8 = 20

        init(environment: PushEnvironment) { self.environment = environment }
        /// Restores the channel from a record of `state`.
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

        /// Whether APNs has not taken what was broadcast, so that members that listen are served by their tokens. The
        /// newest version is still tried until it is taken, for phones that listen and have no token.
        var isCatchingUp: Bool { self.standing == .open && !self.serves && self.byTokenUntilMillis != 0 }
        /// Whether the newest version is broadcast on the channel.
        var isTried: Bool { self.serves || self.isCatchingUp }
        /// Whether the channel has not had that alert by broadcast. A member may have had it by its token: both ways
        /// have the same stamp.
        func owes(_ alert: Version) -> Bool {
            guard self.isCatchingUp else { return self.serves && alert.stampSeconds > self.takenAlertStampSeconds }
            return alert.stampSeconds > max(self.takenStampSeconds, self.droppedAlertStampSeconds)
        }
        /// Whether the broadcast of that version has priority 10. One that may have arrived has not, and one that goes
        /// both ways needs a unit of its own.
        func mayBeHigh(_ version: Version) -> Bool {
            guard version.isHigh, version.stampSeconds > self.triedStampSeconds else { return false }
            return self.serves || self.highStampSeconds == version.stampSeconds
        }

        // MARK: The keeper

        /// Asks the keeper for a channel, as long as the audience lives. A keeper that has reported a channel looks for
        /// that in the list.
        /// - Returns: whether it is time to ask.
        mutating func wishes(by rules: OwnerRules, now: EngineTime) -> Bool {
            guard self.standing != .open, self.wishAtMillis <= now.steadyMillis else { return false }
            let minutes = self.standing == .dead ? Self.doubtEveryMinutes : Self.wishEveryMinutes
            self.wishAtMillis = now.steadyMillis + rules.millis(ofMinutes: minutes)
            return true
        }
        /// Takes the keeper's news of the channel.
        /// - Parameter newestStampSeconds: stamp of the audience's newest version; 0: there is none.
        mutating func take(
            _ news: KeeperNews, newestStampSeconds: Int64, by rules: OwnerRules, now: EngineTime
        ) -> NewsEffect {
            switch news {
            case .opened(self.id) where self.standing == .dead:
                // The keeper has found the channel in the list. It may not have been known everywhere yet.
                self.standing = .open
                self.byTokenUntilMillis = now.wallMillis + rules.millis(ofMinutes: Self.byTokenMinutes)
            case .opened(let opened):
                guard opened != self.id else { return .nothing }
                // The keeper has forgotten an end that it was told before there was a channel. It is told once more.
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
        /// Tells the keeper that the life is over.
        /// - Returns: whether it has not been told.
        mutating func tellsEnd() -> Bool {
            defer { self.isEndTold = true }
            return !self.isEndTold
        }

        // MARK: Versions

        /// Leaves a new version to the channel where there is one. Nothing has to be caught up with.
        mutating func versionComes() {
            self.serves = self.standing == .open
            if !self.serves { self.dueMillis = nil }
        }
        /// Lets a version go both ways. Its alert waits for no tokens.
        mutating func goesBothWays(_ version: Version) {
            if version.hasAlert { self.tokensFirstUntilMillis = nil }
        }
        /// Gives the version's broadcast a unit for itself.
        mutating func hasUnit(for version: Version) { self.highStampSeconds = version.stampSeconds }
        /// Leaves that alert, and each before it, to tokens.
        /// - Returns: whether that is new.
        mutating func leavesAlertToTokens(upTo stampSeconds: Int64) -> Bool {
            guard !self.serves, self.takenAlertStampSeconds < stampSeconds else { return false }
            self.takenAlertStampSeconds = stampSeconds
            return true
        }

        // MARK: Broadcasting

        /// Lets a version wait to be broadcast.
        mutating func waits(isPaused: Bool, by rules: OwnerRules, now: EngineTime) -> WaitEffect {
            // When the broadcast could have left.
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
        /// Ends the wait: no version waits.
        mutating func waitsForNothing() { self.dueMillis = nil }
        /// Whether an alert of an older version, which goes with the newest, waits for tokens. Members that listen may
        /// have had it by token, perhaps with that older version. They get the newest by token first, and ignore the
        /// broadcast. The wait is at most `channel.fallback`.
        mutating func waitsForTokens(by rules: OwnerRules, now: EngineTime) -> Bool {
            let until = self.tokensFirstUntilMillis ?? now.steadyMillis + rules.app.channelFallbackMillis
            self.tokensFirstUntilMillis = until
            return until > now.steadyMillis
        }
        /// Ends that wait: all of them have the newest version, or it need not be waited for.
        mutating func waitsForNoTokens() { self.tokensFirstUntilMillis = nil }
        /// Notes that a broadcast is in the queue of its route.
        mutating func broadcastWaits() { self.isUnderWay = true }
        /// Notes that the broadcast was withdrawn: it has nothing to bring.
        mutating func broadcastWithdrawn() { self.isUnderWay = false }
        /// Notes that the broadcast leaves.
        mutating func broadcastLeaves(by rules: OwnerRules, now: EngineTime) {
            self.sentMillis = now.steadyMillis
            self.notBeforeMillis = now.steadyMillis + self.distanceMillis(by: rules)
        }
        /// Notes that APNs has taken a version, with the alert of that stamp; 0: with none.
        mutating func broadcastTaken(stampSeconds: Int64, alertStampSeconds: Int64) {
            self.takenStampSeconds = max(self.takenStampSeconds, stampSeconds)
            self.takenAlertStampSeconds = max(self.takenAlertStampSeconds, alertStampSeconds)
            self.attempt = 0
            if self.throttleSteps > 0 { self.throttleSteps -= 1 }
            self.dueMillis = nil
        }
        /// Notes that the channel has the newest version that has not expired. The next is left to the channel again.
        mutating func caughtUp() {
            // Members that are owed its alert by their tokens have it by the broadcast: see `keepsAlertsSinceSeconds`.
            if self.isCatchingUp { self.takenAlertStampSeconds = self.takenStampSeconds }
            self.byTokenUntilMillis = 0
            self.tokensFirstUntilMillis = nil
        }
        /// Notes that APNs calls the channel gone.
        mutating func broadcastFoundNothing() { self.standing = .dead }
        /// Notes that nobody knows whether APNs has taken the broadcast.
        /// - Parameter dropsAlert: whether its alert is not repeated.
        mutating func broadcastUnanswered(stampSeconds: Int64, alertStampSeconds: Int64, dropsAlert: Bool) {
            self.triedStampSeconds = max(self.triedStampSeconds, stampSeconds)
            guard dropsAlert else { return }
            self.droppedAlertStampSeconds = max(self.droppedAlertStampSeconds, alertStampSeconds)
            self.takenAlertStampSeconds = max(self.takenAlertStampSeconds, alertStampSeconds)
        }
        /// Makes the distance longer: APNs wants fewer broadcasts.
        /// - Returns: the distance to the next, milliseconds.
        mutating func throttled(by rules: OwnerRules) -> Int64 {
            self.throttleSteps = min(self.throttleSteps + Dispatch.throttleStep, Dispatch.throttleStepsMax)
            return self.distanceMillis(by: rules)
        }
        /// Lets the broadcast go again.
        /// - Parameter isRefused: whether it was refused. Otherwise it has not left, which is no attempt.
        /// - Returns: the number of attempts before.
        mutating func goesAgain(isRefused: Bool) -> UInt8 {
            defer { if isRefused, self.attempt < Self.attemptMax { self.attempt += 1 } }
            return self.attempt
        }
        /// Sets the earliest time of the next attempt. A broadcast that was not taken says nothing of the distance to
        /// one that was. One without an answer may have arrived.
        /// - Parameter distanceMillis: the distance of a throttled channel; 0: it is not throttled.
        mutating func goesAgain(delayMillis: Int64, distanceMillis: Int64, now: EngineTime) {
            let keepsDistance = self.triedStampSeconds > self.takenStampSeconds
            self.notBeforeMillis = max(
                now.steadyMillis + delayMillis, keepsDistance ? self.notBeforeMillis : .min,
                now.steadyMillis + distanceMillis)
        }
        /// Falls back: members that listen get the newest version by their tokens.
        /// - Parameter untilMillis: until when former releases wait, wall milliseconds; 0: nothing is tried before the
        ///   next version.
        /// - Returns: whether the channel served them before.
        mutating func fallsBack(untilMillis: Int64) -> Bool {
            defer {
                self.serves = false
                self.dueMillis = nil
                self.attempt = 0
                self.byTokenUntilMillis = untilMillis
            }
            return self.serves
        }
        /// Takes the channel over from an earlier owner. A broadcast that may have left just before counts towards the
        /// distance.
        /// - Parameter sinceMillis: since when the previous owner has sent nothing, steady.
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
        /// When listeners stop waiting for a broadcast, steady; `Int64.max`: none wait.
        private func fallbackMillis(by rules: OwnerRules) -> Int64 {
            guard self.serves, let due = self.dueMillis else { return .max }
            return due + rules.app.channelFallbackMillis
        }
        /// When the channel has something to do, steady; `Int64.max`: it waits for no time.
        /// - Parameter isOver: whether the audience has ended.
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
