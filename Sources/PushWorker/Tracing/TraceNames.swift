/// Names for the numbers in notices. Immutable, so all work shares one reference.
final class TraceNames: Sendable {
    let inputTopics: [String]
    let bundleIDs: [String]
    /// The host and port of each route.
    let routes: [(host: String, port: Int)]
    let groupID: String

    init(_ configuration: EventTraces.Configuration) {
        self.inputTopics = configuration.inputTopics
        self.bundleIDs = configuration.bundleIDs
        self.routes = configuration.routes
        self.groupID = configuration.groupID
    }
}
