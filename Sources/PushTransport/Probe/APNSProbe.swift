import HTTP2Session
import NIOCore
import NIOPosix
public import TLSSession

/// Tries one connection to a push service step by step, with at most one request. Tools use it to say what works and
/// what does not. It closes the connection at the end.
public struct APNSProbe: Sendable {
    /// The request to send once HTTP/2 is ready.
    public struct Request: Sendable {
        /// The value of `:method`.
        public var method: String
        /// The value of `:path`.
        public var path: String
        /// Further fields in order, with names in lower case. The value of `authorization` is a secret.
        public var fields: [(name: String, value: [UInt8])]
        /// The body; empty for none.
        public var body: [UInt8]
        /// Name of the answer's field that is kept, in lower case.
        public var keptField: String

        public init(
            method: String = "POST", path: String, fields: [(name: String, value: [UInt8])], body: [UInt8],
            keptField: String = "date"
        ) {
            self.method = method
            self.path = path
            self.fields = fields
            self.body = body
            self.keptField = keptField
        }
    }

    /// The peer's answer to the request.
    public struct Answer: Equatable, Sendable {
        /// The value of `:status`.
        public var status: UInt16
        /// The first bytes of the body, at most `answerByteCountMax`.
        public var body: [UInt8]
        /// The value of the answer's field that `Request.keptField` names; `nil` if the answer had no such field.
        public var keptField: String?
        /// Time from sending the request to the end of the answer, microseconds.
        public var micros: Int64

        public init(status: UInt16, body: [UInt8], keptField: String? = nil, micros: Int64 = 0) {
            self.status = status
            self.body = body
            self.keptField = keptField
            self.micros = micros
        }
    }

    /// How far the probe got.
    public enum Step: Int, Comparable, Sendable {
        /// TCP is not connected yet: the name was not found, or nothing accepted the connection.
        case connecting
        /// TCP is connected, or the proxy's tunnel is open.
        case connected
        /// The TLS handshake is complete, and the certificate was accepted.
        case secured
        /// The peer's SETTINGS arrived: it speaks HTTP/2.
        case ready
        /// The request was answered.
        case answered

        public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
    }

    /// The result of a probe.
    public struct Report: Sendable {
        /// How far the probe got.
        public var step = Step.connecting
        /// Why the connection got no further, in words; empty if nothing went wrong.
        public var failure = ""
        /// Why the proxy made no tunnel; `nil` if it made one or there is no proxy.
        public var proxyFailure: ProxyFailure?
        /// What failed in TLS; `nil` if nothing did.
        public var tlsError: TLSError?
        /// The IP address of the connection, such as `17.188.143.34`. With a proxy, this is the proxy's address.
        public var address: String?
        /// The TLS version, such as `TLSv1.3`.
        public var tlsVersion: String?
        /// The peer's certificate chain, beginning with the peer's own certificate. It is incomplete if an issuer was
        /// not found.
        public var certificates: [PeerCertificate] = []
        /// Maximum number of requests that the peer allows at a time; `nil` until its SETTINGS arrive.
        public var streamsMax: UInt32?
        /// The answer; `nil` if none arrived or no request was sent.
        public var answer: Answer?
        /// Whether the request, or a part of it, was sent. If so and no answer arrived, it is unknown whether the peer
        /// processed the request.
        public var requestLeft = false

        /// A report before the first step.
        public init() {}
    }

    /// Maximum number of bytes of an answer's body that are kept.
    public static let answerByteCountMax = 4_096

    /// The host to connect to.
    public var host: String
    /// The TCP port.
    public var port: Int
    /// The proxy that makes tunnels to the host; `nil` for a direct connection.
    public var proxy: ProxyAccess?
    /// The certificate authorities that are trusted, as in a worker's route.
    public var trustRoots: TLSTrustRoots
    /// Time limit for the whole probe, including the lookup of the name.
    public var limit: Duration

    public init(host: String, port: Int, proxy: ProxyAccess? = nil, trustRoots: TLSTrustRoots, limit: Duration) {
        self.host = host
        self.port = port
        self.proxy = proxy
        self.trustRoots = trustRoots
        self.limit = limit
    }

    /// Connects, sends the request if there is one, and closes. It never throws: the report says what went wrong. It
    /// ends within about `limit`.
    public func run(_ request: Request? = nil) async -> Report {
        // The loop must live longer than the probe, because a name server may answer long after the limit.
        await self.run(request, on: MultiThreadedEventLoopGroup.singleton.next())
    }

    private func run(_ request: Request?, on loop: any EventLoop) async -> Report {
        let promise = loop.makePromise(of: Report.self)
        loop.execute {
            var report = Report()
            let attempt: ProbeConnection
            do throws(TLSError) {
                // A route derives `serverName` and `authority` from the host, as in a worker.
                let route = RouteConfiguration(name: "", host: self.host, port: self.port, providerKey: 0)
                attempt = ProbeConnection(
                    tls: try TLSSession(
                        client: try TLSContext.client(roots: self.trustRoots), serverName: route.serverName),
                    authority: route.authority, isProxied: self.proxy != nil, request: request, promise: promise)
            } catch {
                (report.failure, report.tlsError) = ("\(error)", error)
                return promise.succeed(report)
            }
            let bound = NIOLoopBound(attempt, eventLoop: loop)
            loop.assumeIsolated().scheduleTask(in: .milliseconds(self.limit.milliseconds)) {
                attempt.limitReached("\(self.limit.milliseconds) ms")
            }
            let bootstrap = ClientBootstrap(group: loop)
                .resolver(SpreadingResolver(eventLoop: loop, seed: .random(in: .min ... .max), inUse: [:]))
                .connectTimeout(.milliseconds(self.limit.milliseconds))
            ProxiedConnect.connect(
                bootstrap, to: (self.host, self.port), by: self.proxy, on: loop, limitMillis: self.limit.milliseconds
            )
            .whenComplete { result in
                switch result {
                case .success(let channel):
                    guard !bound.value.isEnded else { return channel.close(promise: nil) }
                    do { try channel.pipeline.syncOperations.addHandler(bound.value) } catch {
                        bound.value.end("\(error)")
                    }
                case .failure(let error): bound.value.connectFailed(error)
                }
            }
        }
        // `ProbeConnection` always fulfills the promise, and never fails it.
        return (try? await promise.futureResult.get()) ?? Report()
    }
}

extension Duration {
    /// The duration in whole milliseconds; at least 1.
    fileprivate var milliseconds: Int64 { max(1, Int64(self / .milliseconds(1))) }
}
