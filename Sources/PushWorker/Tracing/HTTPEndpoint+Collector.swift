/// Collectors of traces, which take OTLP over HTTP.
extension HTTPEndpoint {
    /// What `tracing.otlp-endpoint` accepts, completing "expected …".
    static let collectorExpected =
        "a URL such as http://localhost:4318, http or https, without a user; without a path, /v1/traces is meant"

    /// Where a collector takes traces, below its base (OTLP specification, "OTLP/HTTP Request").
    private static let tracesPath = "/v1/traces"

    /// As the setting gives it (OTLP specification, "OTLP/HTTP Default Port"); the port of HTTPS is that of HTTPS.
    /// - Returns: `nil`: it is not what is expected.
    init?(collector text: String) { self.init(text, plainPort: 4_318, path: Self.tracesPath) }

    /// As a variable gives it that is meant for traces alone: any URL, as it is.
    init?(collectorAsGiven text: String) { self.init(text, plainPort: 80, asking: { $0.isEmpty ? "/" : $0 }) }

    /// As a variable gives it that is meant for every signal: the base of all paths.
    init?(collectorBase text: String) { self.init(text, plainPort: 80, asking: Self.tracesPath(below:)) }

    private static func tracesPath(below path: String) -> String {
        let base = path.prefix { $0 != "?" }
        var end = base.endIndex
        while end > base.startIndex, base[base.index(before: end)] == "/" { end = base.index(before: end) }
        return base[..<end] + Self.tracesPath + path[base.endIndex...]
    }

    /// What to look at when nobody takes traces at this path.
    var pathHint: String {
        guard !self.path.prefix(while: { $0 != "?" }).hasSuffix(Self.tracesPath) else {
            return "whoever answers takes no OTLP over HTTP at this path"
        }
        var other = self
        other.path = Self.tracesPath(below: self.path)
        return "collectors take traces at \(Self.tracesPath): is \(other.shown) meant?"
    }
}
