import APNSProtocol
import ChannelKeeping
import PushModel

extension AudienceChannels {
    enum Standing: UInt8 {
        /// The keeper has been asked for a channel, or will be. The standing becomes `open` when the keeper reports
        /// one.
        case wanted = 1
        /// The keeper has opened the channel. The standing becomes `dead` when APNs says that the channel is gone, and
        /// `wanted` when the keeper reports that the channel has vanished.
        case open
        /// APNs says that the channel is gone, which the keeper will check. The standing becomes `open` if the keeper
        /// finds the channel or opens another, and `wanted` if the channel has vanished.
        case dead
    }
    /// What a report of the keeper changes.
    enum NewsEffect: Equatable {
        case nothing
        /// The channel is still wanted. The keeper refuses one for now, and is asked again later.
        case kept
        /// The report changes something that versions say about the channel.
        case declared
        /// The report ends the channel, which is given up.
        case closed
        /// The report ends the audience's life, because the keeper knows a later one.
        case lifeIsOver
    }
    /// What follows for a version that waits to be broadcast.
    enum WaitEffect: Equatable {
        case nothing
        /// The broadcast leaves as soon as a route has room.
        case leaves
        /// Members that listen are served by their tokens and wait no longer.
        case fallsBack
    }

    /// One channel of an audience, as the audience's owner keeps it: whether the channel exists, what APNs has accepted
    /// on it, and when the next broadcast leaves.
    struct Channel {
        let environment: PushEnvironment
        private(set) var standing = Standing.wanted
        /// The id as APNs spells it. Empty until the first channel has been opened. If the channel has vanished and
        /// another is wanted, this is still the old channel's id.
        private(set) var id: [UInt8] = []
        /// Whether members that listen get the newest version by broadcast. If not, they get it by their tokens. For
        /// phones without a token see `isCatchingUp`.
        private(set) var serves = false
        /// Stamp of the newest version that APNs has accepted on the channel.
        private(set) var takenStampSeconds: Int64 = 0
        /// Stamp of the newest version whose alert needs no broadcast now. APNs has accepted the alert on the channel,
        /// a broadcast without an answer may have shown it, or tokens bring it.
        private(set) var takenAlertStampSeconds: Int64 = 0
        /// Not 0: a channel that is open and does not serve is catching up (`isCatchingUp`). The value is set when APNs
        /// has not accepted a version within `channel.fallback`. It is also set when the keeper finds a channel that
        /// APNs had called gone. It becomes 0 when the channel has caught up, or APNs has refused a broadcast.
        ///
        /// Former releases of Mailboat read the value as a time, in wall milliseconds, before which they broadcast
        /// nothing. The present release only checks whether it is 0.
        private(set) var byTokenUntilMillis: Int64 = 0
        /// Whether the end of the life has been reported to the keeper.
        private(set) var isEndReported = false

        // The following properties are not written down.
        /// When the keeper is asked again (steady clock).
        private(set) var wishAtMillis = Int64.min
        /// Earliest time at which the waiting version could have been broadcast (steady clock); `nil`: none waits.
        private(set) var dueMillis: Int64?
        /// When the last broadcast left (steady clock); `nil`: none has left.
        private(set) var sentMillis: Int64?
        /// Earliest time of the next broadcast (steady clock).
        private(set) var notBeforeMillis = Int64.min
        /// Whether a broadcast waits for a connection, or for its answer.
        private(set) var isUnderWay = false
        /// Stamp of the newest version that may have arrived although no answer said so. Versions up to it are sent
        /// again at low priority.
        private(set) var triedStampSeconds: Int64 = 0
        private var attempt: UInt8 = 0
        private var throttleSteps: UInt8 = 0
        /// Stamp of a version that goes by broadcast and by tokens, and whose broadcast has a budget unit of its own;
        /// 0: there is none.
        private(set) var highStampSeconds: Int64 = 0
        /// Stamp up to which alerts are not broadcast again, because a broadcast without an answer may have shown these
        /// alerts.
        private var droppedAlertStampSeconds: Int64 = 0
        /// Time until which an older version's alert waits while tokens bring the newest version first (steady clock);
        /// `nil`: no alert waits.
        private var tokensFirstUntilMillis: Int64?

        /// Minutes until a keeper that has not answered is asked for a channel again.
        static let wishEveryMinutes: Int64 = 1
        /// Minutes until a keeper that has refused is asked for a channel again, unless it said that the life is over.
        static let wishAfterRefusalMinutes: Int64 = 5
        /// Minutes for which former releases broadcast nothing on a channel: see `byTokenUntilMillis`.
        static let byTokenMinutes: Int64 = 5
        /// Minutes between questions to the keeper about a channel that APNs calls gone.
        static let doubtEveryMinutes: Int64 = 5
        /// How often the channel checks whether an operator's stop is over, milliseconds.
        static let pausedMillis: Int64 = 1_000
        /// Number of attempts after which the back-off no longer grows.
        private static let attemptMax: UInt8 = 20

        init(environment: PushEnvironment) { self.environment = environment }
        /// Restores the channel from a record of `state`.
        init(
            environment: PushEnvironment, standing: Standing, id: [UInt8], serves: Bool = false,
            takenStampSeconds: Int64 = 0, takenAlertStampSeconds: Int64 = 0, byTokenUntilMillis: Int64 = 0,
            isEndReported: Bool = false
        ) {
            self.environment = environment
            self.standing = standing
            self.id = id
            self.serves = serves
            self.takenStampSeconds = takenStampSeconds
            self.takenAlertStampSeconds = takenAlertStampSeconds
            self.byTokenUntilMillis = byTokenUntilMillis
            self.isEndReported = isEndReported
        }

        /// Whether the channel is catching up: APNs has not accepted a broadcast, and members that listen are served by
        /// their tokens. The newest version is still broadcast until it is accepted, for phones that listen and have no
        /// token.
        var isCatchingUp: Bool { self.standing == .open && !self.serves && self.byTokenUntilMillis != 0 }
        /// Whether the newest version is broadcast on the channel.
        var isTried: Bool { self.serves || self.isCatchingUp }
        /// Whether the channel still has to bring this version's alert. A member may have had the alert by its token
        /// already. Its phone then ignores the broadcast, because a version has the same stamp by token and by
        /// broadcast.
        func owes(_ alert: Version) -> Bool {
            guard self.isCatchingUp else { return self.serves && alert.stampSeconds > self.takenAlertStampSeconds }
            return alert.stampSeconds > max(self.takenStampSeconds, self.droppedAlertStampSeconds)
        }
        /// Whether the broadcast of this version may have priority 10. Priority 10 is not allowed if an earlier
        /// broadcast of the version may have arrived. If the version goes by token as well, the broadcast needs a
        /// budget unit of its own.
        func mayBeHigh(_ version: Version) -> Bool {
            guard version.isHigh, version.stampSeconds > self.triedStampSeconds else { return false }
            return self.serves || self.highStampSeconds == version.stampSeconds
        }

        // MARK: The keeper

        /// Decides whether to ask the keeper for a channel now. If APNs has called a channel gone, the keeper looks for
        /// that channel in Apple's list. Sets the time of the next question.
        /// - Returns: whether to ask.
        mutating func wishes(by rules: OwnerRules, now: EngineTime) -> Bool {
            guard self.standing != .open, self.wishAtMillis <= now.steadyMillis else { return false }
            let minutes = self.standing == .dead ? Self.doubtEveryMinutes : Self.wishEveryMinutes
            self.wishAtMillis = now.steadyMillis + rules.millis(ofMinutes: minutes)
            return true
        }
        /// Takes the keeper's report on the channel.
        /// - Parameter newestStampSeconds: stamp of the audience's newest version; 0: there is none.
        mutating func take(
            _ news: KeeperNews, newestStampSeconds: Int64, by rules: OwnerRules, now: EngineTime
        ) -> NewsEffect {
            switch news {
            case .opened(self.id) where self.standing == .dead:
                // The keeper has found the channel in the list. APNs may have called the channel gone because it was
                // too new to be known everywhere.
                self.standing = .open
                self.byTokenUntilMillis = now.wallMillis + rules.millis(ofMinutes: Self.byTokenMinutes)
            case .opened(let opened):
                guard opened != self.id else { return .nothing }
                // The keeper has forgotten an end that was reported before there was a channel. The new `Channel`
                // reports the end again.
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
                guard self.standing == .wanted, !self.isEndReported else { return .nothing }
                guard case .lifeIsOver = refusal else {
                    self.wishAtMillis = now.steadyMillis + rules.millis(ofMinutes: Self.wishAfterRefusalMinutes)
                    return .kept
                }
                self.wishAtMillis = now.steadyMillis
                return .lifeIsOver
            }
            return .declared
        }
        /// Marks the end of the life as reported to the keeper.
        /// - Returns: whether it had not been reported before.
        mutating func reportsEnd() -> Bool {
            defer { self.isEndReported = true }
            return !self.isEndReported
        }

        // MARK: Versions

        /// Leaves a new version to the channel if the channel is open.
        mutating func versionComes() {
            self.serves = self.standing == .open
            if !self.serves { self.dueMillis = nil }
        }
        /// Takes a version that goes both by broadcast and by tokens. If the version has an alert, an older version's
        /// alert no longer waits until tokens have brought the newest version.
        mutating func goesBothWays(_ version: Version) {
            if version.hasAlert { self.tokensFirstUntilMillis = nil }
        }
        /// Gives the version's broadcast a budget unit of its own.
        mutating func hasUnit(for version: Version) { self.highStampSeconds = version.stampSeconds }
        /// Leaves the alert with this stamp, and all earlier alerts, to tokens.
        /// - Returns: `false`: members that listen get the newest version by broadcast, or this alert needed no
        ///   broadcast before.
        mutating func leavesAlertToTokens(upTo stampSeconds: Int64) -> Bool {
            guard !self.serves, self.takenAlertStampSeconds < stampSeconds else { return false }
            self.takenAlertStampSeconds = stampSeconds
            return true
        }

        // MARK: Broadcasting

        /// Decides whether a version that waits to be broadcast leaves, is left to tokens, or continues to wait.
        /// - Returns: what follows for the version.
        mutating func waits(isPaused: Bool, by rules: OwnerRules, now: EngineTime) -> WaitEffect {
            // `dueMillis` is the earliest time at which the broadcast could have left.
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
        /// Whether the broadcast has to wait until tokens have brought the newest version. The broadcast also brings an
        /// older version's alert, which members that listen may have had by token. If they get the newest version by
        /// token first, they ignore the broadcast. The wait is at most `channel.fallback`.
        mutating func waitsForTokens(by rules: OwnerRules, now: EngineTime) -> Bool {
            let until = self.tokensFirstUntilMillis ?? now.steadyMillis + rules.app.channelFallbackMillis
            self.tokensFirstUntilMillis = until
            return until > now.steadyMillis
        }
        /// Ends the wait for tokens: all members that listen have the newest version, or the broadcast need not wait
        /// for them.
        mutating func waitsForNoTokens() { self.tokensFirstUntilMillis = nil }
        /// Marks a broadcast as waiting, because it is in the queue of its route.
        mutating func broadcastWaits() { self.isUnderWay = true }
        /// Ends a broadcast: it was withdrawn before it left, or its result is known.
        mutating func broadcastWithdrawn() { self.isUnderWay = false }
        /// Remembers when the broadcast leaves, and when the next broadcast may leave.
        mutating func broadcastLeaves(by rules: OwnerRules, now: EngineTime) {
            self.sentMillis = now.steadyMillis
            self.notBeforeMillis = now.steadyMillis + self.distanceMillis(by: rules)
        }
        /// Remembers the version that APNs has accepted, and its alert. `alertStampSeconds` is 0 if the broadcast had
        /// no alert.
        mutating func broadcastTaken(stampSeconds: Int64, alertStampSeconds: Int64) {
            self.takenStampSeconds = max(self.takenStampSeconds, stampSeconds)
            self.takenAlertStampSeconds = max(self.takenAlertStampSeconds, alertStampSeconds)
            self.attempt = 0
            if self.throttleSteps > 0 { self.throttleSteps -= 1 }
            self.dueMillis = nil
        }
        /// Leaves the next version to the channel again, because the channel has the newest version that has not
        /// expired.
        mutating func caughtUp() {
            // The broadcast has also brought the alert to members to whom tokens still owed it: see
            // `keepsAlertsSinceSeconds`.
            if self.isCatchingUp { self.takenAlertStampSeconds = self.takenStampSeconds }
            self.byTokenUntilMillis = 0
            self.tokensFirstUntilMillis = nil
        }
        /// Marks the channel as dead, because APNs says that it is gone.
        mutating func broadcastFoundNothing() { self.standing = .dead }
        /// Remembers a broadcast whose result is unknown.
        /// - Parameter dropsAlert: whether the broadcast's alert must not be sent again.
        mutating func broadcastUnanswered(stampSeconds: Int64, alertStampSeconds: Int64, dropsAlert: Bool) {
            self.triedStampSeconds = max(self.triedStampSeconds, stampSeconds)
            guard dropsAlert else { return }
            self.droppedAlertStampSeconds = max(self.droppedAlertStampSeconds, alertStampSeconds)
            self.takenAlertStampSeconds = max(self.takenAlertStampSeconds, alertStampSeconds)
        }
        /// Makes the distance between broadcasts longer, because APNs wants fewer broadcasts.
        /// - Returns: the distance to the next broadcast, milliseconds.
        mutating func throttled(by rules: OwnerRules) -> Int64 {
            self.throttleSteps = min(self.throttleSteps + Dispatch.throttleStep, Dispatch.throttleStepsMax)
            return self.distanceMillis(by: rules)
        }
        /// Lets the broadcast be sent again.
        /// - Parameter isRefused: whether the broadcast left, and was refused or got no answer. A broadcast that has
        ///   not left does not count as an attempt.
        /// - Returns: the number of earlier attempts.
        mutating func goesAgain(isRefused: Bool) -> UInt8 {
            defer { if isRefused, self.attempt < Self.attemptMax { self.attempt += 1 } }
            return self.attempt
        }
        /// Sets the earliest time of the next attempt. A broadcast that APNs has refused does not count for the
        /// distance between broadcasts. A broadcast without an answer does, because it may have arrived.
        /// - Parameter distanceMillis: the distance of a throttled channel; 0: it is not throttled.
        mutating func goesAgain(delayMillis: Int64, distanceMillis: Int64, now: EngineTime) {
            let keepsDistance = self.triedStampSeconds > self.takenStampSeconds
            self.notBeforeMillis = max(
                now.steadyMillis + delayMillis, keepsDistance ? self.notBeforeMillis : .min,
                now.steadyMillis + distanceMillis)
        }
        /// Lets members that listen get the newest version by their tokens instead.
        /// - Parameter untilMillis: time before which former releases broadcast nothing, wall milliseconds. If it is 0,
        ///   this release broadcasts nothing before the next version.
        /// - Returns: whether the channel served these members before.
        mutating func fallsBack(untilMillis: Int64) -> Bool {
            defer {
                self.serves = false
                self.dueMillis = nil
                self.attempt = 0
                self.byTokenUntilMillis = untilMillis
            }
            return self.serves
        }
        /// Takes the channel over from a former owner. The former owner may have sent a broadcast until `sinceMillis`,
        /// so the distance to the next broadcast is counted from then.
        /// - Parameter sinceMillis: since when the former owner has sent nothing (steady clock).
        mutating func takenOver(sinceMillis: Int64, newestStampSeconds: Int64, by rules: OwnerRules) {
            guard self.sentMillis == nil else { return }
            self.sentMillis = sinceMillis
            self.triedStampSeconds = newestStampSeconds
            self.notBeforeMillis = sinceMillis + rules.app.channelMinimumDistanceMillis
        }

        // MARK: Deadlines

        private func distanceMillis(by rules: OwnerRules) -> Int64 {
            Dispatch.channelDistanceMillis(rules.app.channelMinimumDistanceMillis, steps: self.throttleSteps)
        }
        /// When listeners no longer wait for a broadcast (steady clock); `Int64.max`: none wait.
        private func fallbackMillis(by rules: OwnerRules) -> Int64 {
            guard self.serves, let due = self.dueMillis else { return .max }
            return due + rules.app.channelFallbackMillis
        }
        /// When the channel has something to do (steady clock); `Int64.max`: nothing is due at a known time.
        /// - Parameter isOver: whether the audience has ended.
        func nextMillis(isOver: Bool, by rules: OwnerRules, now: EngineTime) -> Int64 {
            if self.standing != .open {
                return isOver || self.isEndReported ? .max : max(self.wishAtMillis, now.steadyMillis)
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
