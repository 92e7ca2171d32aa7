import PushTransport

/// A collector that is asked once, with no span, whether it takes traces: for tools that say what works.
public struct OTLPProbe: Sendable {
    /// What came of it.
    public struct Report: Sendable, Equatable {
        /// What it answered; `nil`: nothing.
        public var status: Int?
        /// Why it gave no answer, in words; empty: it gave one.
        public var failure = ""
        /// Where traces are taken, if not there: for an answer that says that nothing is.
        public var pathHint = ""

        /// Nothing was tried yet.
        public init() {}
    }

    /// Where it is, as it may be shown.
    public var shownEndpoint: String { self.client.endpoint.shown }
    private let client: OTLPClient

    /// `nil`: nothing is traced.
    public init?(_ settings: WorkerConfiguration.Tracing) {
        guard let client = OTLPClient(settings) else { return nil }
        self.client = client
    }

    /// Asks. Never throws: what went wrong is in the report. Ends within some seconds.
    public func run() async -> Report {
        var report = Report()
        report.pathHint = self.client.endpoint.pathHint
        do { report.status = try await self.client.send([]).status } catch { report.failure = ConnectError.text(error) }
        self.client.close()
        return report
    }
}
