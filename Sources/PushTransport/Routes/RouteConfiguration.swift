public import APNSPool
public import TLSSession

/// Where one route leads and as whom it speaks: an APNs environment with one provider key. Its place in the transport's
/// list is the `route` number the engine's apps refer to.
public struct RouteConfiguration: Sendable {
    /// What logs and metrics call it, such as `production/ABC123DEFG`.
    public var name: String
    /// Looked up afresh for each connection; an IP address is taken as it is.
    public var host: String
    /// TCP port: 443, or 2197, which Apple offers too.
    public var port: Int
    /// Makes tunnels to the host; `nil`: connections are direct.
    public var proxy: ProxyAccess?
    /// The name the certificate must carry and that is sent as SNI.
    public var serverName: String
    /// The `:authority` of requests.
    public var authority: String
    /// Index into the provider token store's keys.
    public var providerKey: Int
    /// Pushes take this route. `false`: only questions about channels do, and a worker can do its work without them.
    public var carriesPushes = true
    /// Which certificate authorities are believed. Verification cannot be switched off.
    public var trustRoots: TLSTrustRoots = .system
    /// What believes them, made beforehand; `nil`: it is made where the route is opened, on the loop. To read the system's authorities takes some
    /// milliseconds, and nothing is pushed meanwhile.
    public var tlsContext: TLSContext?
    /// Limits and delays of the route's connections.
    public var pool = ConnectionPoolConfiguration()

    /// `serverName` and `authority` follow from host and port; set them afterwards where they differ.
    public init(name: String, host: String, port: Int = 443, providerKey: Int) {
        self.name = name
        self.host = host
        self.port = port
        self.serverName = host
        self.authority = port == 443 ? host : "\(host):\(port)"
        self.providerKey = providerKey
    }
}
