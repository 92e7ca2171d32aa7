import NIOPosix
import Synchronization
import TLSSession

/// Whoever asks a collector to take spans, over one connection. Any thread; one request at a time.
struct OTLPClient: Sendable {
    let endpoint: OTLPEndpoint
    private let resource: TelemetryResource
    private let headersFile: String?
    /// Where no file names any.
    private let headers: OTLPHeaders?
    /// `nil`: plain HTTP.
    private let tls: ClientTLS?
    private let connection: OTLPConnection

    /// Asks nothing yet.
    /// - Returns: `nil` when the settings name no collector.
    init?(_ settings: WorkerConfiguration.Tracing) {
        guard let endpoint = settings.endpoint else { return nil }
        self.endpoint = endpoint
        self.resource = TelemetryResource(settings)
        self.headersFile = settings.headersFile
        self.headers = settings.environment.headers
        let roots = (settings.caFile ?? settings.environment.certificateFile).map { TLSTrustRoots.file(path: $0) }
        self.tls = endpoint.isSecure ? ClientTLS(roots ?? .system) : nil
        self.connection = OTLPConnection(to: endpoint)
    }

    /// Sends spans, or none, and waits for the answer: see `OTLPConnection.send`.
    func send(_ spans: [FinishedSpan]) async throws -> OTLPRequest.Answer {
        do {
            let request = OTLPRequest(
                endpoint: self.endpoint, headers: try await self.currentHeaders(),
                body: OTLPDocument.write(spans, of: self.resource))
            return try await self.connection.send(request, tls: self.tls?.context())
        } catch {
            // Authorities may have changed since they were read.
            self.tls?.forget()
            throw error
        }
    }

    /// Closes the connection.
    func close() { self.connection.close() }

    /// Read for each request, so the file may be changed at any time.
    private func currentHeaders() async throws -> OTLPHeaders? {
        guard let path = self.headersFile else { return self.headers }
        return try await NIOThreadPool.singleton.runIfActive { try OTLPHeaders.read(path: path) }
    }
}

/// What connections to the collector need for TLS. Made once: to read the system's authorities takes longer than a request.
private final class ClientTLS: Sendable {
    private let roots: TLSTrustRoots
    private let made = Mutex<TLSContext?>(nil)

    init(_ roots: TLSTrustRoots) { self.roots = roots }

    /// Throws when the authorities cannot be read.
    func context() throws -> TLSContext {
        if let made = self.made.withLock({ $0 }) { return made }
        let context = try TLSContext.client(roots: self.roots, applicationProtocols: [])
        self.made.withLock { $0 = context }
        return context
    }

    /// They are read anew for the next connection.
    func forget() { self.made.withLock { $0 = nil } }
}
