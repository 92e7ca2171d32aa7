import HTTP2Session
import NIOCore
import NIOPosix
public import TLSSession

/// One connection to a push service that is tried out, step by step, with at most one request on it: for tools that say what works. Holds no
/// connection and decides nothing.
public struct APNSProbe: Sendable {
    /// The request to be sent once HTTP/2 stands.
    public struct Request: Sendable {
        /// `:method`.
        public var method: String
        /// `:path`.
        public var path: String
        /// Further fields, lower case, in their order. What `authorization` says is a secret.
        public var fields: [(name: String, value: [UInt8])]
        /// Empty: none.
        public var body: [UInt8]
        /// The field of the answer that is kept, lower case.
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

    /// An answer.
    public struct Answer: Equatable, Sendable {
        /// `:status`.
        public var status: UInt16
        /// At most `answerByteCountMax` bytes of it.
        public var body: [UInt8]
        /// The value of `Request.keptField`; `nil`: the answer had none.
        public var keptField: String?
        /// From the request's leaving to the answer's end.
        public var micros: Int64

        public init(status: UInt16, body: [UInt8], keptField: String? = nil, micros: Int64 = 0) {
            self.status = status
            self.body = body
            self.keptField = keptField
            self.micros = micros
        }
    }

    /// How far it got.
    public enum Step: Int, Comparable, Sendable {
        /// The name was not looked up, or nobody took the connection.
        case connecting
        /// TCP stands.
        case connected
        /// TLS stands, and the certificate was accepted.
        case secured
        /// The peer's SETTINGS came: it speaks HTTP/2.
        case ready
        /// The request was answered.
        case answered

        public static func < (one: Self, other: Self) -> Bool { one.rawValue < other.rawValue }
    }

    /// What was found.
    public struct Report: Sendable {
        /// How far it got.
        public var step = Step.connecting
        /// Why it got no further, in words; empty: nothing went wrong.
        public var failure = ""
        /// Why a proxy made no tunnel, where that is why.
        public var proxyFailure: ProxyFailure?
        /// What failed in TLS; `nil`: nothing did.
        public var tlsError: TLSError?
        /// The address that answered, such as `17.188.143.34`.
        public var address: String?
        /// Such as `TLSv1.3`.
        public var tlsVersion: String?
        /// The chain of the peer, its own certificate first, as far as it could be built.
        public var certificates: [PeerCertificate] = []
        /// Requests at a time that the peer allows.
        public var streamsMax: UInt32?
        /// The answer; `nil`: none came, or nothing was asked.
        public var answer: Answer?
        /// The request left, or some of it: without an answer nobody knows what became of it.
        public var requestLeft = false

        /// Nothing was tried yet.
        public init() {}
    }

    /// Bytes of an answer's body that are kept.
    public static let answerByteCountMax = 4_096

    /// Where the connection goes.
    public var host: String
    /// TCP port.
    public var port: Int
    /// Makes tunnels to the host; `nil`: the connection is direct.
    public var proxy: ProxyAccess?
    /// Which certificate authorities are believed, as a worker's route has them.
    public var trustRoots: TLSTrustRoots
    /// For all of it, the lookup of the name included.
    public var limit: Duration

    public init(host: String, port: Int, proxy: ProxyAccess? = nil, trustRoots: TLSTrustRoots, limit: Duration) {
        self.host = host
        self.port = port
        self.proxy = proxy
        self.trustRoots = trustRoots
        self.limit = limit
    }

    /// Connects, sends the request if there is one, and closes. Never throws: what went wrong is in the report. Ends within about `limit`.
    public func run(_ request: Request? = nil) async -> Report {
        // A loop that outlives the probe: a name server may answer long after the limit.
        await self.run(request, on: MultiThreadedEventLoopGroup.singleton.next())
    }

    private func run(_ request: Request?, on loop: any EventLoop) async -> Report {
        let promise = loop.makePromise(of: Report.self)
        loop.execute {
            var report = Report()
            let attempt: ProbeConnection
            do throws(TLSError) {
                // It makes both names of the host, as for a worker.
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
        // The connection keeps its promise, and fails none.
        return (try? await promise.futureResult.get()) ?? Report()
    }
}

extension Duration {
    /// Whole milliseconds; at least 1.
    fileprivate var milliseconds: Int64 { max(1, Int64(self / .milliseconds(1))) }
}
