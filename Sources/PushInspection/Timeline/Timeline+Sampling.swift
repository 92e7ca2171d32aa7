public import DeviceModel

/// What is written down while more comes than a person can read: a few activities, and these whole. Who only looks on asks here first, and copies nothing
/// that is not wanted.
extension Timeline {
    /// The activities of which all is written down while it is crowded.
    struct Sample: Sendable {
        /// Keys of their records.
        var activities: Set<ByteKey> = []
        /// Tokens that lead to them.
        var tokens: Set<ByteKey> = []
    }

    /// Phones of the sample, besides those that somebody looks at.
    static let sampledPhonesMax = 8

    /// Somebody looks at an activity: for a while it belongs to each sample.
    public mutating func look(at activity: String, nowMillis: Int64) {
        self.attention.look(at: activity, nowMillis: nowMillis)
        if self.eventAllowance.isCrowded || self.pushAllowance.isCrowded { self.drawSample(nowMillis: nowMillis) }
    }

    /// Whether a record of the events topic is to be taken.
    public mutating func wantsEvent(key: Span<UInt8>, nowMillis: Int64) -> Bool {
        if self.mayBeMembership(key: key) { return true }
        if self.eventAllowance.begin(nowMillis: nowMillis), self.eventAllowance.isCrowded {
            self.drawSample(nowMillis: nowMillis)
        }
        let isSampled = self.eventAllowance.isCrowded && self.sample.activities.contains(ByteKey(key))
        return self.eventAllowance.take(isSampled: isSampled)
    }

    /// Whether a record of the outcomes topic is to be taken. - Parameter key: that of its event.
    public func wantsOutcome(key: Span<UInt8>) -> Bool {
        !self.eventAllowance.isCrowded || self.sample.activities.contains(ByteKey(key))
    }

    /// Whether a push is to be taken by `listPush`. What it does to an audience is counted here.
    public mutating func wantsPush(_ glimpse: PushGlimpse, token: Span<UInt8>, body: Span<UInt8>) -> Bool {
        let key = ByteKey(token: token)
        let isKnown = self.phonesByToken[key] != nil
        if self.audiences.takePush(glimpse, to: key, body: body) {
            self.audienceMoved(nowMillis: glimpse.atMillis)
            if !isKnown { return false }
        } else if !isKnown, self.audiences.unfollowedCount > 0 {
            // A member of an audience beyond what is followed.
            return false
        }
        if self.pushAllowance.begin(nowMillis: glimpse.atMillis), self.pushAllowance.isCrowded {
            self.drawSample(nowMillis: glimpse.atMillis)
        }
        let isSampled = self.pushAllowance.isCrowded && self.sample.tokens.contains(key)
        return self.pushAllowance.take(isSampled: isSampled)
    }

    /// The newest phones, which stay as long as it is crowded, and what somebody looks at.
    private mutating func drawSample(nowMillis: Int64) {
        let looked = self.attention.activities(nowMillis: nowMillis)
        var sample = Sample(activities: Set(looked.map { ByteKey($0) }))
        let phones = self.phonesInOrder
        let followed = phones.filter { looked.contains($0.activity) } + phones.suffix(Self.sampledPhonesMax)
        for phone in followed {
            if !phone.activity.isEmpty { sample.activities.insert(ByteKey(phone.activity)) }
            for token in phone.tokens { sample.tokens.insert(ByteKey(token: token)) }
        }
        let homeless = looked.subtracting(phones.map(\.activity))
        if !homeless.isEmpty {
            // Their phones were forgotten.
            for (token, activity) in self.activitiesByToken where homeless.contains(activity) {
                sample.tokens.insert(token)
            }
        }
        self.sample = sample
    }

    /// Who looks is told of each push to a member at once, but not more often than this, milliseconds.
    private static let audienceSpacingMillis: Int64 = 50

    private mutating func audienceMoved(nowMillis: Int64) {
        guard nowMillis - self.audiencesToldMillis >= Self.audienceSpacingMillis || nowMillis < self.audiencesToldMillis
        else { return }
        self.audiencesToldMillis = nowMillis
        self.settleAudiences()
    }

    /// A second has passed: whoever follows is told of what it has not been told of.
    public mutating func tick(nowMillis: Int64) {
        let isNew = [self.eventAllowance.look(nowMillis: nowMillis), self.pushAllowance.look(nowMillis: nowMillis)]
        if isNew.contains(true) { _ = self.nextRevision() }
        self.settleAudiences()
    }

    private mutating func settleAudiences() {
        guard self.audiences.hasNews else { return }
        self.audiences.tell(revision: self.nextRevision())
    }

    /// Whether only a sample is written down, and how much came in the second before.
    var sampling: JSONTree {
        [
            "isSample": .bool(self.eventAllowance.isCrowded || self.pushAllowance.isCrowded),
            "events": .integer(self.eventAllowance.lastSecondCount),
            "pushes": .integer(self.pushAllowance.lastSecondCount),
            "activities": .integer(self.sample.activities.count),
        ]
    }
}
