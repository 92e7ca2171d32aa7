/// One record, its effect on the phone, and its possible outcomes.
package struct Publication: Sendable {
    /// The activity that the record belongs to. It is also the record's key, unless `key` is set.
    package var activity: String
    /// The record's key, if it is not `activity`. `.some(nil)` is a record without a key.
    package var key: [UInt8]??
    /// The key of the record in Kafka.
    package var recordKey: [UInt8]? { self.key ?? Array(self.activity.utf8) }
    /// The value of the record in Kafka.
    package var value: [UInt8]
    /// The event that the phone would get if only this record existed. `nil` for a registration, or a record that is
    /// set aside.
    package var event: StoryEvent?
    /// The token by which the phone is reached from now on; `nil`: it does not change.
    package var token: String?
    /// The join or leave in the record; `nil` for any other record.
    package var membership: StoryMembership?
    /// Whether the record is put on a partition other than its key's, as a client with another partitioner would do.
    package var isMisplaced = false
    /// The record's time in milliseconds since 1970, if the publisher's clock or client is wrong. `nil`: the time of
    /// publishing.
    package var recordMillis: Int64?
    /// The possible outcomes. Every outcome record of this event must be one of them.
    package var outcomes: Set<String>

    /// Possible outcomes of an event that reaches the phone. Either it was sent, or a newer one was sent instead.
    package static let reachesThePhone: Set<String> = ["delivered", "superseded"]
    /// Possible outcomes of an audience's event that reaches its phones.
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

    /// A record that does not reach a phone.
    /// - Parameter outcomes: its possible outcomes.
    package init(_ activity: String, setAside value: [UInt8], as outcomes: Set<String>, key: [UInt8]?? = .none) {
        self.activity = activity
        self.key = key
        self.value = value
        self.event = nil
        self.outcomes = outcomes
    }
}
