/// Collectors of traces, which accept OTLP over HTTP.
extension HTTPEndpoint {
    /// Description of what `tracing.otlp-endpoint` accepts, completing "expected …".
    static let collectorExpected =
        "a URL such as http://localhost:4318, http or https, without a user; without a path, /v1/traces is meant"

    /// The path where a collector accepts traces, below its base (OTLP specification, "OTLP/HTTP Request").
    private static let tracesPath = "/v1/traces"

    /// Reads the setting's text (OTLP specification, "OTLP/HTTP Default Port"). The default port of HTTPS is 443.
    /// - Returns: `nil` when `text` is not what is expected.
    init?(collector text: String) { self.init(text, plainPort: 4_318, path: Self.tracesPath) }

    /// Reads a variable that is for traces alone. Its URL is used unchanged.
    init?(collectorAsGiven text: String) { self.init(text, plainPort: 80, asking: { $0.isEmpty ? "/" : $0 }) }

    /// Reads a variable that is for traces, metrics and logs. Its URL is the base of their paths.
    init?(collectorBase text: String) { self.init(text, plainPort: 80, asking: Self.tracesPath(below:)) }

    private static func tracesPath(below path: String) -> String {
        let base = path.prefix { $0 != "?" }
        var end = base.endIndex
        while end > base.startIndex, base[base.index(before: end)] == "/" { end = base.index(before: end) }
        return base[..<end] + Self.tracesPath + path[base.endIndex...]
    }

    /// A hint for an answer that says that traces are not accepted at this path.
    var pathHint: String {
        guard !self.path.prefix(while: { $0 != "?" }).hasSuffix(Self.tracesPath) else {
            return "the server does not accept OTLP over HTTP at this path"
        }
        var other = self
        other.path = Self.tracesPath(below: self.path)
        return "collectors take traces at \(Self.tracesPath): is \(other.shown) meant?"
    }
}
