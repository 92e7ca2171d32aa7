/// The port of the simulator that a connection was made to. For Apple these are separate services.
enum Door: Sendable {
    /// Pushes to phones, and broadcasts.
    case pushes
    /// Requests about channels.
    case management
}

/// What APNs remembers about one connection.
struct ConnectionRecord {
    let door: Door
    var statistics = SimulatorStatistics.Connection()
    /// The last accepted provider token, as the whole value of `authorization`; empty before the first.
    private(set) var authorization: [UInt8] = []
    private(set) var keyID = ""
    private(set) var teamID = ""
    private(set) var issuedAtSeconds: Int64 = 0
    /// `ProviderTokenChecks.generation` when the token was accepted.
    private(set) var keysGeneration = 0
    /// When a provider token last replaced another on this connection, milliseconds since 1970; `nil` if none has.
    var tokenChangedMillis: Int64?
    /// The lowest last stream that a GOAWAY has named so far. Requests above it are not processed.
    var lastStreamIDMax = Int32.max
    /// The highest stream whose request was judged; 0 before the first. A request is judged when it is complete. A
    /// request on a higher stream may be complete before one on a lower stream.
    var judgedStreamIDMax: Int32 = 0
    /// Whether a request was rejected lately, so that only one stream is allowed until the next success.
    var isCollapsed = false
    /// The last `apns-topic` that passed the checks, and its index. An equal topic in the next request is not checked
    /// again.
    var topic: [UInt8] = []
    var topicIndex: Int16 = -1

    init(number: Int, door: Door) {
        self.door = door
        self.statistics.number = number
        self.statistics.isForManagement = door == .management
    }

    var isAuthenticated: Bool { !self.authorization.isEmpty }

    mutating func accept(
        authorization: [UInt8], keyID: String, teamID: String, issuedAtSeconds: Int64, keysGeneration: Int
    ) {
        self.authorization = authorization
        self.keyID = keyID
        self.teamID = teamID
        self.issuedAtSeconds = issuedAtSeconds
        self.keysGeneration = keysGeneration
        self.topicIndex = -1
        self.topic = []
    }
}
