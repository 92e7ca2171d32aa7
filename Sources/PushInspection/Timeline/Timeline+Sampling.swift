public import DeviceModel

/// While more comes than a person can read, a few activities are written down, and these whole. Callers ask here first whether something is
/// wanted, and copy nothing else.
extension Timeline {
    /// The activities that are written down whole while it is crowded.
    struct Sample: Sendable {
        /// Keys of their records.
        var activities: Set<ByteKey> = []
        /// Tokens that lead to them.
        var tokens: Set<ByteKey> = []
    }

    /// Phones of the sample, besides those that somebody looks at.
    static let sampledPhonesMax = 8

    /// Somebody looks at an activity: for a while it belongs to each sample, and its phone is known again where it had given way.
    /// - Parameter isByTheWay: as with an event that is published here: it takes no place from what others look at.
    public mutating func look(at activity: String, nowMillis: Int64, isByTheWay: Bool = false) {
        let isNew = self.attention.look(at: activity, nowMillis: nowMillis, isByTheWay: isByTheWay)
        if !isByTheWay { self.recallPhone(activity: activity) }
        // A look that only lasts longer changes no sample.
        guard isNew else { return }
        if self.eventAllowance.isCrowded || self.pushAllowance.isCrowded { self.drawSample(nowMillis: nowMillis) }
    }

    /// Whether a record of the events topic is to be taken.
    public mutating func wantsEvent(key: Span<UInt8>, nowMillis: Int64) -> Bool {
        if self.mayBeMembership(key: key) { return true }
        let hasBegun = self.eventAllowance.begin(nowMillis: nowMillis)
        let hasFilled = self.eventAllowance.see()
        if self.eventAllowance.isCrowded, hasBegun || hasFilled { self.drawSample(nowMillis: nowMillis) }
        let isSampled = self.eventAllowance.isCrowded && self.sample.activities.contains(ByteKey(key))
        return self.eventAllowance.take(isSampled: isSampled)
    }

    /// Whether a record of the outcomes topic is to be taken: also where an event that stands here waits for it. - Parameter key: that of its event.
    public func wantsOutcome(key: Span<UInt8>) -> Bool {
        guard self.eventAllowance.isCrowded else { return true }
        let name = ByteKey(key)
        return self.sample.activities.contains(name) || self.awaited[name] != nil
    }

    /// The number of kept events without an outcome yet has changed. - Parameter key: the events' key.
    mutating func count(awaited key: [UInt8]?, by difference: Int) {
        let bytes = key ?? []
        let name = ByteKey(bytes.span)
        let count = self.awaited[name, default: 0] + difference
        self.awaited[name] = count > 0 ? count : nil
        self.partitions.count(awaited: bytes, by: difference)
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
        let hasBegun = self.pushAllowance.begin(nowMillis: glimpse.atMillis)
        let hasFilled = self.pushAllowance.see()
        if self.pushAllowance.isCrowded, hasBegun || hasFilled { self.drawSample(nowMillis: glimpse.atMillis) }
        let isSampled = self.pushAllowance.isCrowded && self.sample.tokens.contains(key)
        return self.pushAllowance.take(isSampled: isSampled)
    }

    /// What somebody looks at, and the newest phones whose activity is known: of the others only pushes could be listed. Where some partitions are
    /// read, it is the newest whose events lie there.
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

    /// A second has passed: followers are told of what they have not been told of.
    public mutating func tick(nowMillis: Int64) {
        let isNew = [self.eventAllowance.look(nowMillis: nowMillis), self.pushAllowance.look(nowMillis: nowMillis)]
        if isNew.contains(true) {
            // The second may have begun here, and then nobody else draws the sample.
            if self.eventAllowance.isCrowded || self.pushAllowance.isCrowded { self.drawSample(nowMillis: nowMillis) }
            _ = self.nextRevision()
        }
        self.settleAudiences()
    }

    private mutating func settleAudiences() {
        guard self.audiences.hasNews else { return }
        self.audiences.tell(revision: self.nextRevision())
    }

    /// Whether an event for an activity without a phone asks for one. In a flood its registration may not have been read.
    var makesPhones: Bool { !self.eventAllowance.isCrowded }

    /// Whether only a sample is written down, and how much came within a second.
    var sampling: JSONTree {
        [
            "isSample": .bool(self.eventAllowance.isCrowded || self.pushAllowance.isCrowded),
            "events": .integer(self.eventAllowance.recentCount),
            "pushes": .integer(self.pushAllowance.recentCount),
            "activities": .integer(self.sample.activities.count), "makesPhones": .bool(self.makesPhones),
        ]
    }
}
