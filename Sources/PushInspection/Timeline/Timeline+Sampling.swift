public import DeviceModel

/// Lists only a few activities, but each of them completely, while more arrives than a person can read. Callers first
/// ask whether a record or a push is wanted, and copy it only then.
extension Timeline {
    /// The activities that are listed completely while the timeline is crowded.
    struct Sample: Sendable {
        /// Keys of the activities' records.
        var activities: Set<ByteKey> = []
        /// Tokens of the activities.
        var tokens: Set<ByteKey> = []
    }

    /// Maximum number of phones of the sample, beside the phones that somebody looks at.
    static let sampledPhonesMax = 8

    /// Remembers that somebody looks at an activity: for a while, each sample has the activity. If the activity's phone
    /// gave way, the phone is restored, unless `isByTheWay`.
    /// - Parameter isByTheWay: whether the look gives way to looks of others, as for an event that the page publishes.
    public mutating func look(at activity: String, nowMillis: Int64, isByTheWay: Bool = false) {
        let isNew = self.attention.look(at: activity, nowMillis: nowMillis, isByTheWay: isByTheWay)
        if !isByTheWay { self.recallPhone(activity: activity) }
        // A look that only lasts longer does not change the sample.
        guard isNew else { return }
        if self.eventAllowance.isCrowded || self.pushAllowance.isCrowded { self.drawSample(nowMillis: nowMillis) }
    }

    /// Whether to take a record of the events topic.
    public mutating func wantsEvent(key: Span<UInt8>, nowMillis: Int64) -> Bool {
        if self.mayBeMembership(key: key) { return true }
        let hasBegun = self.eventAllowance.begin(nowMillis: nowMillis)
        let hasFilled = self.eventAllowance.see()
        if self.eventAllowance.isCrowded, hasBegun || hasFilled { self.drawSample(nowMillis: nowMillis) }
        let isSampled = self.eventAllowance.isCrowded && self.sample.activities.contains(ByteKey(key))
        return self.eventAllowance.take(isSampled: isSampled)
    }

    /// Whether to take a record of the outcomes topic. That includes outcomes of listed events.
    /// - Parameter key: key of the outcome's event.
    public func wantsOutcome(key: Span<UInt8>) -> Bool {
        guard self.eventAllowance.isCrowded else { return true }
        let name = ByteKey(key)
        return self.sample.activities.contains(name) || self.awaited[name] != nil
    }

    /// Changes the number of kept events without an outcome.
    /// - Parameter key: the events' key.
    mutating func count(awaited key: [UInt8]?, by difference: Int) {
        let bytes = key ?? []
        let name = ByteKey(bytes.span)
        let count = self.awaited[name, default: 0] + difference
        self.awaited[name] = count > 0 ? count : nil
        self.partitions.count(awaited: bytes, by: difference)
    }

    /// Whether `listPush` should take a push. Its effect on an audience is counted here.
    public mutating func wantsPush(_ glimpse: PushGlimpse, token: Span<UInt8>, body: Span<UInt8>) -> Bool {
        let key = ByteKey(token: token)
        let isKnown = self.phonesByToken[key] != nil
        if self.audiences.takePush(glimpse, to: key, body: body) {
            self.audienceMoved(nowMillis: glimpse.atMillis)
            if !isKnown { return false }
        } else if !isKnown, self.audiences.unfollowedCount > 0 {
            // The push may be to a member that is not followed.
            return false
        }
        let hasBegun = self.pushAllowance.begin(nowMillis: glimpse.atMillis)
        let hasFilled = self.pushAllowance.see()
        if self.pushAllowance.isCrowded, hasBegun || hasFilled { self.drawSample(nowMillis: glimpse.atMillis) }
        let isSampled = self.pushAllowance.isCrowded && self.sample.tokens.contains(key)
        return self.pushAllowance.take(isSampled: isSampled)
    }

    /// Draws the sample: what somebody looks at, and the newest phones whose activity is known. If the activity is
    /// unknown, only pushes could be listed. If only some partitions are read, draws the newest phones whose events are
    /// there.
    mutating func drawSample(nowMillis: Int64) {
        let looked = self.attention.activities(nowMillis: nowMillis)
        var sample = Sample(activities: Set(looked.map { ByteKey($0) }))
        let phones = self.phonesInOrder
        let named = phones.filter { !$0.activity.isEmpty }
        var read = named
        if self.readsSomePartitions {
            self.partitions.choose(looked: looked, phones: named.map(\.activity))
            read = named.filter { self.partitions.holds($0.activity) }
        } else {
            self.partitions.chooseAll()
        }
        let followed = phones.filter { looked.contains($0.activity) } + read.suffix(Self.sampledPhonesMax)
        for phone in followed {
            sample.activities.insert(ByteKey(phone.activity))
            for token in phone.tokens { sample.tokens.insert(ByteKey(token: token)) }
        }
        let homeless = looked.subtracting(phones.map(\.activity))
        if !homeless.isEmpty {
            // The phones of these activities were forgotten.
            for (token, activity) in self.activitiesByToken where homeless.contains(activity) {
                sample.tokens.insert(token)
            }
        }
        self.sample = sample
    }

    /// Least time between two messages to followers about pushes to members, in milliseconds.
    private static let audienceSpacingMillis: Int64 = 50

    private mutating func audienceMoved(nowMillis: Int64) {
        guard
            nowMillis - self.followersWokenMillis >= Self.audienceSpacingMillis || nowMillis < self.followersWokenMillis
        else { return }
        self.followersWokenMillis = nowMillis
        self.settleAudiences()
    }

    /// Wakes followers for pending news once a second has passed.
    public mutating func tick(nowMillis: Int64) {
        let isNew = [self.eventAllowance.look(nowMillis: nowMillis), self.pushAllowance.look(nowMillis: nowMillis)]
        if isNew.contains(true) {
            // `look` may have begun a new second. Then nothing else draws the sample.
            if self.eventAllowance.isCrowded || self.pushAllowance.isCrowded { self.drawSample(nowMillis: nowMillis) }
            _ = self.nextRevision()
        }
        self.settleAudiences()
    }

    private mutating func settleAudiences() {
        guard self.audiences.hasNews else { return }
        self.audiences.publish(revision: self.nextRevision())
    }

    /// Whether an event for an activity without a phone asks for one. In a flood the activity's registration may not
    /// have been read.
    var makesPhones: Bool { !self.eventAllowance.isCrowded }

    /// Whether only a sample is listed, and how much arrived within a second.
    var sampling: JSONTree {
        [
            "isSample": .bool(self.eventAllowance.isCrowded || self.pushAllowance.isCrowded),
            "events": .integer(self.eventAllowance.recentCount),
            "pushes": .integer(self.pushAllowance.recentCount),
            "activities": .integer(self.sample.activities.count), "makesPhones": .bool(self.makesPhones),
        ]
    }
}
