import PushTransport
public import Redaction

/// Settings for an HTTP proxy between the worker and APNs. They apply to pushes, broadcasts and requests about
/// channels.
public struct ProxySettings: Equatable, Sendable {
    /// The value of `apns.proxy`: `none`, `environment`, or the proxy's URL.
    public var way = Self.direct
    /// A file with `user:password`; `nil`: the proxy needs no login.
    public var credentialsFile: String?
    /// The proxy that the environment variables `https_proxy` and `no_proxy` describe.
    public var environment = ProxyEnvironment()

    /// The value for direct connections.
    public static let direct = "none"
    /// The value that leaves the choice to the environment.
    public static let byEnvironment = "environment"
    /// Description of what `apns.proxy` accepts, completing "expected …".
    static let expected =
        "none, environment, or the URL of an HTTP proxy such as http://proxy:3128, without a user: that goes into the file of apns.proxy-credentials-file"

    /// The defaults.
    public init() {}

    static func accepts(_ text: String) -> Bool {
        text == Self.direct || text == Self.byEnvironment || ProxyAddress(text) != nil
    }

    /// The proxy for a host; `nil`: the connection is direct. Connections to this machine never use a proxy.
    func access(to host: String, port: Int) -> ProxyAccess? {
        guard !ProxyEnvironment.isThisMachine(host), let address = self.address(to: host, port: port) else {
            return nil
        }
        return ProxyAccess(host: address.host, port: address.port, credentialsFile: self.credentialsFile)
    }

    private func address(to host: String, port: Int) -> ProxyAddress? {
        switch self.way {
        case Self.direct: nil
        case Self.byEnvironment: self.environment.exempts(host, port: port) ? nil : self.environment.address
        default: ProxyAddress(self.way)
        }
    }
}

extension ProxySettings: Redacted {}

/// The host and port of an HTTP proxy.
struct ProxyAddress: Equatable, Sendable {
    var host: String
    var port: Int

    /// Reads `http://host:port`; the default port is 80. `nil` when `text` has another form, or a user.
    init?(_ text: String) {
        guard text.utf8.count <= 512, text.lowercased().hasPrefix("http://") else { return nil }
        let rest = text.dropFirst("http://".count)
        guard let parts = Authority(rest.hasSuffix("/") ? rest.dropLast() : rest) else { return nil }
        self.host = parts.host
        self.port = parts.port ?? 80
    }

    /// The address as it may be shown.
    var shown: String { ProxyAccess(host: self.host, port: self.port).shown }
}

/// The environment variables that name a proxy for HTTPS, and hosts that are reached without it. They are read as curl
/// reads them. Pure.
public struct ProxyEnvironment: Equatable, Sendable {
    /// The variable that names a proxy; `nil` when none is set.
    public private(set) var name: String?
    /// The proxy's address; `nil` when no proxy is named, or the named one cannot be used.
    private(set) var address: ProxyAddress?
    /// Why the named proxy cannot be used, completing "is …"; `nil` when it can.
    private(set) var fault: String?
    private var exempt: [Authority] = []
    private var exemptsAll = false

    /// An instance that names no proxy.
    public init() {}

    /// - Parameter variables: the process's variables. A lower-case name is preferred. A variable without a value
    ///   counts as not set.
    init(_ variables: [String: String]) {
        func value(_ name: String) -> (name: String, text: String)? {
            for name in [name, name.uppercased()] {
                if let text = variables[name], !text.isEmpty { return (name, text) }
            }
            return nil
        }
        if let proxy = value("https_proxy") {
            self.name = proxy.name
            self.address = ProxyAddress(proxy.text.contains("://") ? proxy.text : "http://" + proxy.text)
            if self.address == nil { self.fault = ShownText.withheld(proxy.text) }
        }
        for entry in (value("no_proxy")?.text ?? "").split(whereSeparator: { $0 == "," || $0.isWhitespace }) {
            guard entry != "*" else {
                self.exemptsAll = true
                continue
            }
            // `.example.com`, `*.example.com` and `example.com` all mean the domain and everything below it.
            let name = entry.hasPrefix("*.") ? entry.dropFirst(2) : entry.drop { $0 == "." }
            let isBare = !name.hasPrefix("[") && name.count(where: { $0 == ":" }) > 1
            if let authority = Authority(isBare ? "[\(name)]" : name) {
                self.exempt.append(authority)
            }
        }
    }

    /// Whether a host is reached without the proxy.
    func exempts(_ host: String, port: Int) -> Bool {
        let host = host.lowercased()
        return self.exemptsAll
            || self.exempt.contains { entry in
                let name = entry.host.lowercased()
                return entry.port ?? port == port && (host == name || host.hasSuffix(".\(name)"))
            }
    }

    /// Whether a host name means this machine.
    static func isThisMachine(_ host: String) -> Bool {
        let host = host.lowercased()
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        let isLoopback = parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
        return isLoopback || host == "::1" || host == "localhost" || host.hasSuffix(".localhost")
    }
}

// The variables may contain a user and a password.
extension ProxyEnvironment: Redacted {}
extension ProxyAddress: Redacted {}
