import PushTransport

/// Asks a collector once, without spans, whether it accepts traces. It is for tools that report what works.
public struct OTLPProbe: Sendable {
    /// The result of the question.
    public struct Report: Sendable, Equatable {
        /// The answer's status; `nil` when there was no answer.
        public var status: Int?
        /// Why there was no answer, in words; empty when there was one.
        public var failure = ""
        /// A hint at the right path. It applies if the answer says that traces are not accepted at this path.
        public var pathHint = ""

        /// A report before anything was tried.
        public init() {}
    }

    /// The collector's URL as it may be shown.
    public var shownEndpoint: String { self.client.endpoint.shown }
    private let client: OTLPClient

    /// A probe of the collector that the settings name; `nil` when they name none.
    public init?(_ settings: WorkerConfiguration.Tracing) {
        guard let client = OTLPClient(settings) else { return nil }
        self.client = client
    }

    /// Asks the collector. Never throws: the report says what went wrong. Ends within some seconds.
    public func run() async -> Report {
        var report = Report()
        report.pathHint = self.client.endpoint.pathHint
        do { report.status = try await self.client.send([]).status } catch { report.failure = ConnectError.text(error) }
        self.client.close()
        return report
    }
}
