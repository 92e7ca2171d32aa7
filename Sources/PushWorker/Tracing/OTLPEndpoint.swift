import Redaction

/// Where spans go: a collector that takes OTLP over HTTP.
struct OTLPEndpoint: Equatable, Sendable {
    /// HTTPS.
    var isSecure: Bool
    /// A name or an address, without brackets.
    var host: String
    var port: Int
    /// Of the request, with its query.
    var path: String

    /// What `tracing.otlp-endpoint` accepts, completing "expected …".
    static let expected =
        "a URL such as http://localhost:4318, http or https, without a user; without a path, /v1/traces is meant"
    /// A longer URL is none.
    private static let byteCountMax = 2_048
    /// Where OTLP over HTTP is taken if nothing else is said (OTLP specification, "OTLP/HTTP Default Port"); of HTTPS that of HTTPS.
    private static let plainPort = 4_318
    private static let securePort = 443

    /// `nil`: it is not what is expected.
    init?(_ text: String) {
        guard text.utf8.count <= Self.byteCountMax, text.utf8.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            return nil
        }
        var rest = text[...]
        if rest.lowercased().hasPrefix("https://") {
            (self.isSecure, rest) = (true, rest.dropFirst("https://".count))
        } else if rest.lowercased().hasPrefix("http://") {
            (self.isSecure, rest) = (false, rest.dropFirst("http://".count))
        } else {
            return nil
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = rest.dropFirst(authority.count)
        // A secret in a URL would be shown wherever settings are. A fragment is nobody's business but a browser's.
        guard !authority.contains("@"), !path.contains("#"), path.isEmpty || path.hasPrefix("/") else { return nil }
        self.path = path.isEmpty || path == "/" ? "/v1/traces" : String(path)

        var portText: Substring?
        if authority.hasPrefix("[") {
            guard let end = authority.firstIndex(of: "]") else { return nil }
            self.host = String(authority[authority.index(after: authority.startIndex)..<end])
            let behind = authority[authority.index(after: end)...]
            guard behind.isEmpty || behind.hasPrefix(":"), self.host.contains(":") else { return nil }
            portText = behind.isEmpty ? nil : behind.dropFirst()
        } else {
            let parts = authority.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2 else { return nil }
            self.host = String(parts[0])
            portText = parts.count == 2 ? parts[1] : nil
        }
        guard SettingChecks.isHost(self.host) else { return nil }
        self.port = self.isSecure ? Self.securePort : Self.plainPort
        guard let portText else { return }
        guard let port = Int(portText), (1...65_535).contains(port), portText.allSatisfy(\.isNumber) else { return nil }
        self.port = port
    }

    /// The `host` field of a request.
    var authority: String {
        let host = self.host.contains(":") ? "[\(self.host)]" : self.host
        return self.port == (self.isSecure ? 443 : 80) ? host : "\(host):\(self.port)"
    }

    /// As it may be shown: what is behind a question mark may be a secret, and so may words of a path that look drawn by chance.
    var shown: String {
        let path = String(self.path.prefix { $0 != "?" })
        return
            "\(self.isSecure ? "https" : "http")://\(ShownText.addresses(self.authority))\(ShownText.path(path) ?? "/(a path)")"
    }
}

extension OTLPEndpoint: Untold {}
