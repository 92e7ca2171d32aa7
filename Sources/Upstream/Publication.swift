/// One record, its effect on the phone, and its possible outcomes.
package struct Publication: Sendable {
    /// The activity that the record belongs to; also the record's key unless `key` says otherwise.
    package var activity: String
    /// The record's key, if it differs: `.some(nil)` is a record without a key.
    package var key: [UInt8]??
    /// The key of the record in Kafka.
    package var recordKey: [UInt8]? { self.key ?? Array(self.activity.utf8) }
    /// The value of the record in Kafka.
    package var value: [UInt8]
    /// The event that the phone would get from this record alone; `nil`: none (a registration, or a record that is set
    /// aside).
    package var event: StoryEvent?
    /// The token that reaches the phone from now on; `nil`: the same as before.
    package var token: String?
    /// The join or leave in the record; `nil`: it is neither.
    package var membership: StoryMembership?
    /// Whether the record is put on a partition that is not its key's, as by a client with another partitioner.
    package var isMisplaced = false
    /// The record's time, where its publisher's clock or client is wrong, milliseconds since 1970; `nil`: the time of
    /// publishing.
    package var recordMillis: Int64?
    /// Every outcome record of this event must be one of these.
    package var outcomes: Set<String>

    /// Possible outcomes of an event that reaches the phone: it was sent, or a newer one was sent instead.
    package static let reachesThePhone: Set<String> = ["delivered", "superseded"]
    /// Outcomes of an audience's event that has reached its phones.
    package static let reachesThePhones: Set<String> = ["fanned-out", "superseded"]

    /// An event that the phone has to show.
    package init(_ activity: String, _ event: StoryEvent, isMisplaced: Bool = false) {
        self.activity = activity
        self.value = event.value
        self.event = event
        self.token = event.startToken
        self.isMisplaced = isMisplaced
        self.outcomes = event.audience == nil ? Self.reachesThePhone : Self.reachesThePhones
    }

    /// A registration.
    package init(_ activity: String, _ registration: StoryRegistration) {
        self.activity = activity
        self.value = registration.value
        self.event = nil
        self.token = registration.token
        self.outcomes = ["applied"]
    }

    /// A join or a leave.
    package init(_ membership: StoryMembership) {
        self.activity = membership.token
        self.value = membership.value
        self.event = nil
        self.membership = membership
        self.outcomes = ["applied"]
    }

    /// A record that does not reach a phone, and its possible outcomes.
    package init(_ activity: String, setAside value: [UInt8], as outcomes: Set<String>, key: [UInt8]?? = .none) {
        self.activity = activity
        self.key = key
        self.value = value
        self.event = nil
        self.outcomes = outcomes
    }
}
