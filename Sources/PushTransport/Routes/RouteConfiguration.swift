public import APNSPool
public import TLSSession

/// One route: an APNs environment and the provider key used there. Its index in the transport's list is the `route`
/// number that the engine's apps refer to.
public struct RouteConfiguration: Sendable {
    /// The route's name in logs and metrics, such as `production/ABC123DEFG`.
    public var name: String
    /// The host, looked up again for each connection. An IP address is used as it is.
    public var host: String
    /// The TCP port: 443, or 2197, which Apple offers too.
    public var port: Int
    /// The proxy that makes tunnels to the host; `nil` for direct connections.
    public var proxy: ProxyAccess?
    /// The name that the certificate must have, sent as SNI.
    public var serverName: String
    /// The `:authority` of requests.
    public var authority: String
    /// Index into the provider token store's keys.
    public var providerKey: Int
    /// Whether pushes take this route. If not, only requests about channels do, and a worker can do its work without
    /// them.
    public var carriesPushes = true
    /// The certificate authorities that are trusted. Verification cannot be switched off.
    public var trustRoots: TLSTrustRoots = .system
    /// The TLS context for these authorities, made in advance. `nil` makes it when the route is opened, on the loop.
    /// Reading the system's authorities takes some milliseconds, and nothing is pushed meanwhile.
    public var tlsContext: TLSContext?
    /// Limits and delays of the route's connections.
    public var pool = ConnectionPoolConfiguration()

    /// A route. `serverName` and `authority` follow from host and port; set them afterwards if they differ.
    public init(name: String, host: String, port: Int = 443, providerKey: Int) {
        self.name = name
        self.host = host
        self.port = port
        self.serverName = host
        self.authority = port == 443 ? host : "\(host):\(port)"
        self.providerKey = providerKey
    }
}
