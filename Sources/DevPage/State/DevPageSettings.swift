public import KafkaLog

/// What the page is told.
public struct DevPageSettings: Sendable {
    /// Where it listens.
    public var host = "127.0.0.1"
    /// 0: any free port.
    public var port = 0
    /// The bundle id of events that name none.
    public var app: String
    /// An app that the page's own events name, where there are several; empty: they name none.
    public var appNamed = ""
    /// Where events are published and read.
    public var eventsTopic: String
    /// Where what became of them is read.
    public var outcomesTopic: String
    /// Partitions of either.
    public var partitionCount: Int
    /// How Kafka is reached.
    public var kafka: KafkaSettings
    /// What a person gives to Kafka clients: `host:port`.
    public var bootstrapShown: String
    /// Where the simulated APNs takes pushes, `host:port`; empty: it is told to nobody.
    public var apnsShown = ""
    /// An activity that nobody has registered a phone for gets one by itself.
    public var makesPhones = true
    /// How long a simulated phone takes to start up again.
    public var bootTime = Duration.seconds(5)
    /// Pushes at priority 10 that a simulated phone shows in an hour; `nil`: all.
    public var phoneBudgetPerHour: Int?
    /// Why nothing may be changed now, such as that a story is being played; `nil`: it may be.
    public var refusalOfChanges: (@Sendable () -> String?)?
    /// Bundle ids that a schema may be given for.
    public var apps: [String] = []

    /// - Parameters:
    ///   - app: bundle id.
    ///   - bootstrapShown: what a person gives to Kafka clients.
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
