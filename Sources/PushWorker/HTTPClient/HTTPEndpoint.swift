import Redaction

/// An HTTP server that a setting names by its URL: a collector, or a token endpoint.
struct HTTPEndpoint: Hashable, Sendable {
    /// HTTPS.
    var isSecure: Bool
    /// A name or an address, without brackets.
    var host: String
    var port: Int
    /// The path that a request asks for, with its query.
    var path: String

    /// A longer URL is none.
    private static let byteCountMax = 2_048
    private static let securePort = 443

    /// - Parameters:
    ///   - plainPort: where plain HTTP is meant to go if the URL does not say it.
    ///   - path: what is meant if the URL has none.
    /// - Returns: `nil`: it is no such URL.
    init?(_ text: String, plainPort: Int = 80, path usualPath: String = "/") {
        self.init(text, plainPort: plainPort, asking: { $0.isEmpty || $0 == "/" ? usualPath : $0 })
    }

    /// - Parameters:
    ///   - plainPort: of HTTP, where none is given.
    ///   - path: what is asked, of a path with its query.
    /// - Returns: `nil`: it is no such URL.
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
        // A secret in a URL would be shown wherever settings are. A fragment is nobody's business but a browser's.
        guard !authority.contains("@"), !given.contains("#"), given.isEmpty || given.hasPrefix("/") else {
            return nil
        }
        self.path = path(String(given))

        guard let parts = Authority(authority) else { return nil }
        self.host = parts.host
        self.port = parts.port ?? (self.isSecure ? Self.securePort : plainPort)
    }

    /// Whether it is this machine: what goes there by plain HTTP is seen by nobody else.
    var isLoopback: Bool {
        let isAddress = self.host.utf8.allSatisfy { $0 == UInt8(ascii: ".") || (0x30...0x39).contains($0) }
        return self.host == "localhost" || self.host == "::1" || (isAddress && self.host.hasPrefix("127."))
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

extension HTTPEndpoint: Untold {}
