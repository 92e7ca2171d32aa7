import DeviceModel
import Upstream

/// What every phone would show if every event had been pushed alone, in the order of publishing.
///
/// It knows nothing of the worker: the publisher feeds it, with payloads that the story writes itself.
struct ExpectedPhones {
    private var phones: [String: ReferenceDevice] = [:]
    /// The current token of each activity.
    private(set) var tokens: [String: String] = [:]

    /// Adds a phone with this token for `activity`. The phone may show nothing yet.
    mutating func join(activity: String, token: String) {
        self.tokens[activity] = token
        if self.phones[activity] == nil { self.phones[activity] = ReferenceDevice() }
    }

    /// Takes an `event` that was published for `activity`.
    mutating func take(_ event: StoryEvent, activity: String, recordMillis: Int64) throws {
        try self.phones[activity, default: ReferenceDevice()]
            .take(payload: event.payload(recordMillis: recordMillis), nowMillis: recordMillis)
    }

    /// Compares the actual phones with the expected ones.
    /// - Parameter actual: gives the phone of a token; `nil`: APNs has never seen the token.
    func compare(with actual: (_ token: String) -> Device?) -> Comparison {
        var comparison = Comparison()
        for (activity, token) in self.tokens.sorted(by: { $0.key < $1.key }) {
            comparison.checked += 1
            let expected = self.phones[activity]?.device ?? Device()
            if let difference = (actual(token) ?? Device()).firstDifference(from: expected) {
                comparison.differences.append("\(activity): \(difference)")
            } else {
                comparison.equivalent += 1
            }
        }
        return comparison
    }

    struct Comparison {
        var checked = 0
        var equivalent = 0
        /// One line for each phone that shows something else.
        var differences: [String] = []
    }
}
