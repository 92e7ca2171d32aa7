import NIOPosix
import TLSSession

/// Sends spans to a collector over one connection. May be used from any thread; one request at a time.
struct OTLPClient: Sendable {
    let endpoint: HTTPEndpoint
    private let resource: TelemetryResource
    private let headersFile: String?
    /// Header fields to use when no file names any.
    private let headers: OTLPHeaders?
    /// The TLS of the connection; `nil`: plain HTTP.
    private let tls: ClientTLS?
    private let connection: HTTPClientConnection

    /// Makes a client; sends nothing yet.
    /// - Returns: `nil` when the settings name no collector.
    init?(_ settings: WorkerConfiguration.Tracing) {
        guard let endpoint = settings.endpoint else { return nil }
        self.endpoint = endpoint
        self.resource = TelemetryResource(settings)
        self.headersFile = settings.headersFile
        self.headers = settings.environment.headers
        let roots = (settings.caFile ?? settings.environment.certificateFile).map { TLSTrustRoots.file(path: $0) }
        self.tls = endpoint.isSecure ? ClientTLS(roots ?? .system) : nil
        self.connection = HTTPClientConnection(to: endpoint)
    }

    /// Sends spans and waits for the answer, see `HTTPClientConnection.send`. The list may be empty.
    func send(_ spans: [FinishedSpan]) async throws -> HTTPClientRequest.Answer {
        do {
            let request = HTTPClientRequest(
                endpoint: self.endpoint, contentType: "application/json",
                fields: try await self.currentHeaders()?.fields ?? [],
                body: OTLPDocument.write(spans, of: self.resource))
            return try await self.connection.send(request, tls: self.tls?.context())
        } catch {
            // The connection may have failed because the authorities have changed. They are read again for the next
            // connection.
            self.tls?.forget()
            throw error
        }
    }

    /// Closes the connection.
    func close() { self.connection.close() }

    /// The header fields. A file is read again for each request, so that it may be changed at any time.
    private func currentHeaders() async throws -> OTLPHeaders? {
        guard let path = self.headersFile else { return self.headers }
        return try await NIOThreadPool.singleton.runIfActive { try OTLPHeaders.read(path: path) }
    }
}
