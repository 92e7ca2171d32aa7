/// What numbers in notes mean. Never changes: one reference, however many works have it.
final class TraceNames: Sendable {
    let inputTopics: [String]
    let bundleIDs: [String]
    /// Where each route leads.
    let routes: [(host: String, port: Int)]
    let groupID: String

    init(_ configuration: EventTraces.Configuration) {
        self.inputTopics = configuration.inputTopics
        self.bundleIDs = configuration.bundleIDs
        self.routes = configuration.routes
        self.groupID = configuration.groupID
    }
}
