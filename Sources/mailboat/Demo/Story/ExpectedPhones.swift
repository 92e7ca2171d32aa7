import DeviceModel
import Upstream

/// What every phone would show had every event been pushed alone, in the order it was published: device equivalence's other side.
///
/// Knows nothing of the worker: the publisher feeds it, with payloads of the story's own writing.
struct ExpectedPhones {
    private var phones: [String: ReferenceDevice] = [:]
    /// The token each activity answers to now.
    private(set) var tokens: [String: String] = [:]

    /// `activity` has a phone, reached by `token` from now on. It may show nothing yet.
    mutating func join(activity: String, token: String) {
        self.tokens[activity] = token
        if self.phones[activity] == nil { self.phones[activity] = ReferenceDevice() }
    }

    /// `event` was published for `activity`.
    mutating func take(_ event: StoryEvent, activity: String, recordMillis: Int64) throws {
        try self.phones[activity, default: ReferenceDevice()]
            .take(payload: event.payload(recordMillis: recordMillis), nowMillis: recordMillis)
    }

    /// How the phones there are differ from those there should be.
    /// - Parameter actual: gives the phone behind a token; `nil`: APNs has never seen the token.
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
