/// What the simulator counted since its start. A copy; taken whole between two batches.
public struct SimulatorStatistics: Equatable, Sendable, Codable {
    /// What was counted on one connection.
    public struct Connection: Equatable, Sendable, Codable {
        /// Counted from 1 in the order of their coming.
        public var number = 0
        /// It has not ended yet.
        public var isOpen = true
        /// Requests that came in whole on it.
        public var requests = 0
        /// Pushes answered 200.
        public var accepted = 0
        /// Provider tokens accepted, the first included.
        public var providerTokens = 0
        /// Most requests that were unanswered at once.
        public var inFlightPeak = 0
        /// It came to the port for questions about channels.
        public var isForManagement = false

        /// A connection that has just come.
        public init() {}
    }

    /// Connections that were served, closed ones included.
    public var connectionsAccepted = 0
    /// Connections that are served now.
    public var connectionsOpen = 0
    /// Closed at once: by the fault `refuse`, or over `connectionsMax`.
    public var connectionsRefused = 0
    /// Requests that came in whole.
    public var requests = 0
    /// Answered 200: pushes to phones, and broadcasts.
    public var accepted = 0
    /// Requests that were broadcasts.
    public var broadcasts = 0
    /// Questions about channels that were answered 200, 201 or 204.
    public var channelRequestsAccepted = 0
    /// Answers with another status, by reason; a status given by a fault under its reason or number.
    public var refused: [String: Int] = [:]
    /// Requests reset, never answered or lost with a connection cut by a fault.
    public var unanswered = 0
    /// Pushes without an answer, or refused by a fault, that the device got all the same.
    public var unansweredApplied = 0
    /// What devices did with the pushes they got, by `Device.Reaction`.
    public var reactions: [String: Int] = [:]
    /// What phones did with messages of the channels they listen to, by `Device.Reaction`: one for each phone a message reached.
    public var broadcastReactions: [String: Int] = [:]
    /// What cards that listen got over their channel and by their token: pushes and messages that brought what the other way had brought already.
    public var bothWays = 0
    /// Channels that are registered now, of all apps.
    public var channels = 0
    /// Channels that were made since the start.
    public var channelsCreated = 0
    /// Channels that were deleted since the start.
    public var channelsDeleted = 0
    /// Pushes at priority 10 that reached a device.
    public var highPriority = 0
    /// Tokens known, good or not.
    public var tokens = 0
    /// Different provider tokens with a good signature, on all connections together. One that is still used is counted again after a key was
    /// registered or revoked.
    public var providerTokens = 0
    /// Activities on phones. A rotated token and its successor lead to the same one.
    public var devices = 0
    /// Starts that reached a phone, whatever became of them.
    public var starts = 0
    /// Starts over the phone's budget: answered 200, and no card came up.
    public var startsOverBudget = 0
    /// Update tokens of cards that starts put up, including those that nobody has been told of.
    public var updateTokens = 0
    /// Requests that a fault fired for.
    public var faultsFired = 0
    /// Violations of all kinds, those no longer kept included.
    public var violations = 0
    /// Violations by kind, those no longer kept included.
    public var violationsByKind: [String: Int] = [:]
    /// Connections that are open, and the newest that are closed, up to `closedConnectionsKeptMax`.
    public var connections: [Connection] = []
    /// Unanswered at this moment because of latency.
    public var delayed = 0

    /// Most closed connections whose numbers are kept.
    public static let closedConnectionsKeptMax = 64

    /// Nothing counted yet.
    public init() {}
}
