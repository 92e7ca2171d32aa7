extension HTTPEndpoint {
    /// What `tracing.otlp-endpoint` accepts, completing "expected …".
    static let collectorExpected =
        "a URL such as http://localhost:4318, http or https, without a user; without a path, /v1/traces is meant"

    /// A collector that takes OTLP over HTTP (OTLP specification, "OTLP/HTTP Default Port"); of HTTPS, the port is that of HTTPS.
    /// - Returns: `nil`: it is not what is expected.
    init?(collector text: String) { self.init(text, plainPort: 4_318, path: "/v1/traces") }
}
