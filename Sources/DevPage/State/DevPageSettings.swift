public import KafkaLog

/// Settings of the page.
public struct DevPageSettings: Sendable {
    /// Address on which the page listens.
    public var host = "127.0.0.1"
    /// Port on which the page listens. 0: any free port.
    public var port = 0
    /// The bundle id of events that name no app.
    public var app: String
    /// The app that the page's own events name where there are several apps. Empty: they name none.
    public var appNamed = ""
    /// The topic to which events are published, and from which they are read.
    public var eventsTopic: String
    /// The topic from which outcomes are read.
    public var outcomesTopic: String
    /// Number of partitions of each topic.
    public var partitionCount: Int
    /// Settings of Kafka clients.
    public var kafka: KafkaSettings
    /// The broker that a person gives to Kafka clients: `host:port`.
    public var bootstrapShown: String
    /// Where the simulated APNs takes pushes, `host:port`; empty: not shown.
    public var apnsShown = ""
    /// Whether an activity without a registered phone gets one automatically.
    public var makesPhones = true
    /// How long a simulated phone takes to restart.
    public var bootTime = Duration.seconds(5)
    /// Pushes at priority 10 that a simulated phone shows in an hour; `nil`: all of them.
    public var phoneBudgetPerHour: Int?
    /// Why nothing may be changed now, for example because a story is being played; `nil`: changes are allowed.
    public var refusalOfChanges: (@Sendable () -> String?)?
    /// Bundle ids for which a schema may be given.
    public var apps: [String] = []

    /// Creates settings.
    /// - Parameters:
    ///   - app: bundle id.
    ///   - bootstrapShown: the broker that a person gives to Kafka clients.
    public init(
        app: String, eventsTopic: String, outcomesTopic: String, partitionCount: Int, kafka: KafkaSettings,
        bootstrapShown: String
    ) {
        self.app = app
        self.eventsTopic = eventsTopic
        self.outcomesTopic = outcomesTopic
        self.partitionCount = partitionCount
        self.kafka = kafka
        self.bootstrapShown = bootstrapShown
    }
}
