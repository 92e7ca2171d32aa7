/// One record, what the phone is to make of it, and what may become of it.
package struct Publication: Sendable {
    /// Whose it is; also the record's key unless `key` says otherwise.
    package var activity: String
    /// The record's key: `.some(nil)` is a record without a key.
    package var key: [UInt8]??
    /// What lies in Kafka as the record's key.
    package var recordKey: [UInt8]? { self.key ?? Array(self.activity.utf8) }
    /// The record's value, as it lies in Kafka.
    package var value: [UInt8]
    /// What the phone would be told by this record on its own; `nil`: nothing (a registration, or a record that is set aside).
    package var event: StoryEvent?
    /// The token by which the phone is reached from now on; `nil`: as before.
    package var token: String?
    /// What a join or a leave says; `nil`: it is neither.
    package var membership: StoryMembership?
    /// `true`: put on a partition that is not the key's, as a client with another partitioner would.
    package var isMisplaced = false
    /// The record's time, where its publisher's clock or client is wrong, milliseconds since 1970; `nil`: that of publishing.
    package var recordMillis: Int64?
    /// Every outcome record of this event must be one of these.
    package var outcomes: Set<String>

    /// What may become of an event that reaches the phone: it was sent, or a newer one was sent in its place.
    package static let reachesThePhone: Set<String> = ["delivered", "superseded"]
    /// Outcomes of an audience's event that has reached its phones.
    package static let reachesThePhones: Set<String> = ["fanned-out", "superseded"]

    /// An event the phone is to know.
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

    /// A record that does not reach a phone, and why.
    package init(_ activity: String, setAside value: [UInt8], as outcomes: Set<String>, key: [UInt8]?? = .none) {
        self.activity = activity
        self.key = key
        self.value = value
        self.event = nil
        self.outcomes = outcomes
    }
}
