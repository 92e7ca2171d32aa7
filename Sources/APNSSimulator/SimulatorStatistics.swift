/// Counts of the simulator since its start: a copy, taken between two batches.
public struct SimulatorStatistics: Equatable, Sendable, Codable {
    /// Counts of one connection.
    public struct Connection: Equatable, Sendable, Codable {
        /// The connection's number, counted from 1 in order of arrival.
        public var number = 0
        /// Whether the connection is open.
        public var isOpen = true
        /// Number of whole requests on the connection.
        public var requests = 0
        /// Number of requests that succeeded, including requests about channels.
        public var accepted = 0
        /// Number of provider tokens accepted, including the first.
        public var providerTokens = 0
        /// Highest number of requests that were unanswered at once.
        public var inFlightPeak = 0
        /// Whether the connection was made to the port for requests about channels.
        public var isForManagement = false

        /// The counts of a new connection.
        public init() {}
    }

    /// Number of connections that were served, closed ones included.
    public var connectionsAccepted = 0
    /// Number of connections that are served now.
    public var connectionsOpen = 0
    /// Number of connections closed at once: by the fault `refuse`, or over `connectionsMax`.
    public var connectionsRefused = 0
    /// Number of whole requests.
    public var requests = 0
    /// Number of pushes to phones, and broadcasts, that were answered 200.
    public var accepted = 0
    /// Number of broadcasts.
    public var broadcasts = 0
    /// Number of requests about channels that were answered 200, 201 or 204.
    public var channelRequestsAccepted = 0
    /// Number of refusals, by reason. A refusal by a fault is counted under the fault's reason, or under its status.
    public var refused: [String: Int] = [:]
    /// Number of requests that a fault kept from a normal answer: reset, never answered, lost with a cut connection, or
    /// answered with frames written by hand.
    public var unanswered = 0
    /// Number of requests that were carried out although a fault left them without an answer, or gave an `OddAnswer`.
    public var unansweredApplied = 0
    /// Number of reactions of devices to pushes, by `Device.Reaction`.
    public var reactions: [String: Int] = [:]
    /// Number of reactions of listening phones to messages of channels, by `Device.Reaction`: one for each phone that a
    /// message reached.
    public var broadcastReactions: [String: Int] = [:]
    /// Number of times that a card got content twice: once over its channel, and once by its token.
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
    /// Number of different provider tokens with a valid signature, on all connections together. After a key was
    /// registered or revoked, tokens that are still used are counted again.
    public var providerTokens = 0
    /// Activities on phones. A rotated token and its successor lead to the same activity.
    public var devices = 0
    /// Number of starts that reached a phone, with any result.
    public var starts = 0
    /// Number of starts over the phone's budget: answered 200 without a card.
    public var startsOverBudget = 0
    /// Number of update tokens of cards that starts put up, including tokens that apps have not reported yet.
    public var updateTokens = 0
    /// Requests that a fault fired for.
    public var faultsFired = 0
    /// Number of violations of all kinds, including those that are only counted.
    public var violations = 0
    /// Number of violations by kind, including those that are only counted.
    public var violationsByKind: [String: Int] = [:]
    /// The open connections, and the newest `closedConnectionsKeptMax` closed ones.
    public var connections: [Connection] = []
    /// Number of requests that are unanswered now because of latency.
    public var delayed = 0

    /// Maximum number of closed connections whose counts are kept.
    public static let closedConnectionsKeptMax = 64

    /// Counts at zero.
    public init() {}
}
