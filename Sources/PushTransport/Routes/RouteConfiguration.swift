public import APNSPool
public import TLSSession

/// One route: an APNs environment and the provider key used there. `route` numbers elsewhere are indexes into the
/// transport's list of routes.
public struct RouteConfiguration: Sendable {
    /// The route's name in logs and metrics, such as `production/ABC123DEFG`.
    public var name: String
    /// The host. A name is looked up again for each connection; an IP address is used as it is.
    public var host: String
    /// The TCP port. Apple offers 443 and 2197.
    public var port: Int
    /// The proxy that makes tunnels to the host; `nil` for direct connections.
    public var proxy: ProxyAccess?
    /// The name that the peer's certificate must have. It is sent as SNI.
    public var serverName: String
    /// The `:authority` of requests.
    public var authority: String
    /// Index into the provider token store's keys.
    public var providerKey: Int
    /// Whether pushes take this route. If not, it only carries requests about channels, and a worker can push without
    /// it.
    public var carriesPushes = true
    /// The certificate authorities that are trusted. Verification cannot be switched off.
    public var trustRoots: TLSTrustRoots = .system
    /// The TLS context for `trustRoots`, made in advance. If `nil`, the context is made on the loop when the route is
    /// opened. Reading the system's authorities then stops all pushes for some milliseconds.
    public var tlsContext: TLSContext?
    /// Limits and delays of the route's connections.
    public var pool = ConnectionPoolConfiguration()

    /// A route whose `serverName` and `authority` follow from host and port. Set them afterwards if they differ.
    public init(name: String, host: String, port: Int = 443, providerKey: Int) {
        self.name = name
        self.host = host
        self.port = port
        self.serverName = host
        self.authority = port == 443 ? host : "\(host):\(port)"
        self.providerKey = providerKey
    }
}
