import Redaction

/// An HTTP server that a setting names by its URL: a collector, or a token endpoint.
struct HTTPEndpoint: Hashable, Sendable {
    /// Whether the scheme of the URL is HTTPS.
    var isSecure: Bool
    /// A host name or an address, without brackets.
    var host: String
    var port: Int
    /// The path of requests, with its query.
    var path: String

    /// Length of the longest URL accepted.
    private static let byteCountMax = 2_048
    private static let securePort = 443

    /// Reads a URL.
    /// - Parameters:
    ///   - plainPort: the port of plain HTTP, if the URL has none.
    ///   - usualPath: the path, if the URL has none.
    /// - Returns: `nil` when `text` is not a URL of HTTP or HTTPS.
    init?(_ text: String, plainPort: Int = 80, path usualPath: String = "/") {
        self.init(text, plainPort: plainPort, asking: { $0.isEmpty || $0 == "/" ? usualPath : $0 })
    }

    /// Reads a URL.
    /// - Parameters:
    ///   - plainPort: the port of plain HTTP, if the URL has none.
    ///   - path: makes the path of requests from the URL's path and query.
    /// - Returns: `nil` when `text` is not a URL of HTTP or HTTPS.
    init?(_ text: String, plainPort: Int, asking path: (String) -> String) {
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
        let given = rest.dropFirst(authority.count)
        // A user in a URL is refused, because settings are shown and a user may contain a secret. A fragment has a
        // meaning only in browsers.
        guard !authority.contains("@"), !given.contains("#"), given.isEmpty || given.hasPrefix("/") else {
            return nil
        }
        self.path = path(String(given))

        guard let parts = Authority(authority) else { return nil }
        self.host = parts.host
        self.port = parts.port ?? (self.isSecure ? Self.securePort : plainPort)
    }

    /// Whether the server is on this machine, so that nobody else sees plain HTTP to it.
    var isLoopback: Bool {
        let isAddress = self.host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
        return self.host == "localhost" || self.host == "::1" || (isAddress && self.host.hasPrefix("127."))
    }

    /// The `host` field of a request.
    var authority: String {
        let host = self.host.contains(":") ? "[\(self.host)]" : self.host
        return self.port == (self.isSecure ? 443 : 80) ? host : "\(host):\(self.port)"
    }

    /// The URL as it may be shown. A query may be a secret, and so may words of a path that look random.
    var shown: String {
        let path = String(self.path.prefix { $0 != "?" })
        return
            "\(self.isSecure ? "https" : "http")://\(ShownText.addresses(self.authority))\(ShownText.path(path) ?? "/(a path)")"
    }
}

extension HTTPEndpoint: Redacted {}
