/// Which of the simulator's ports a connection came to. In Apple's world these are services of their own.
enum Door: Sendable {
    /// Pushes to phones, and broadcasts.
    case pushes
    /// Questions about channels.
    case management
}

/// What APNs remembers of one connection.
struct ConnectionRecord {
    let door: Door
    var statistics = SimulatorStatistics.Connection()
    /// The provider token accepted last, as the whole value of `authorization`; empty before the first.
    private(set) var authorization: [UInt8] = []
    private(set) var keyID = ""
    private(set) var teamID = ""
    private(set) var issuedAtSeconds: Int64 = 0
    /// `ProviderTokenChecks.generation` when it was accepted.
    private(set) var keysGeneration = 0
    /// When a new provider token replaced another, milliseconds since 1970; `nil`: never.
    var tokenChangedMillis: Int64?
    /// The last stream of the GOAWAYs so far: requests above it are not processed.
    var lastStreamIDMax = Int32.max
    /// The highest stream whose request was judged; 0: none was. Requests are judged when they are whole, and a higher stream may be whole before a lower one.
    var judgedStreamIDMax: Int32 = 0
    /// Rejected lately: one stream until the next success.
    var isCollapsed = false
    /// The topic of the last request and its index, so that the next one is compared with it first.
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
