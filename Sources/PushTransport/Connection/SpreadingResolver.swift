import Glibc
import NIOCore
import NIOPosix
import PushModel
import Synchronization

/// Looks a name up for one connection. It asks the system each time, because Apple wants an uncached lookup per
/// connection. Addresses that the route uses least come first, in random order. So connections spread over APNs' hosts,
/// and do not all use the address that `getaddrinfo` sorts first.
///
/// Lookups run on threads of their own. `getaddrinfo` blocks while a name server is silent, and nothing else may wait
/// for that.
final class SpreadingResolver: Resolver, Sendable {
    private let v4: EventLoopPromise<[SocketAddress]>
    private let v6: EventLoopPromise<[SocketAddress]>
    private let seed: UInt64
    /// Number of the route's connections to each IP address.
    private let inUse: [String: Int]
    private let isCancelled = Atomic(false)

    /// Maximum number of lookups in the process at a time. Others wait. A lookup that was cancelled while it waited is
    /// not made.
    static let threadCount = 4
    private static let threads: NIOThreadPool = {
        let threads = NIOThreadPool(numberOfThreads: SpreadingResolver.threadCount)
        threads.start()
        return threads
    }()

    init(eventLoop: any EventLoop, seed: UInt64, inUse: [String: Int]) {
        self.inUse = inUse
        self.v4 = eventLoop.makePromise()
        self.v6 = eventLoop.makePromise()
        self.seed = seed
    }

    /// Begins the lookup of IPv6 and IPv4 addresses together. NIO calls this before `initiateAQuery`.
    func initiateAAAAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> {
        Self.threads.submit { _ in self.lookUp(host: host, port: port) }
        return self.v6.futureResult
    }

    func initiateAQuery(host: String, port: Int) -> EventLoopFuture<[SocketAddress]> { self.v4.futureResult }

    /// Keeps a waiting lookup from beginning. `getaddrinfo` cannot be interrupted, so the answer of a running lookup is
    /// ignored.
    func cancelQueries() { self.isCancelled.store(true, ordering: .relaxed) }

    private func lookUp(host: String, port: Int) {
        guard !self.isCancelled.load(ordering: .relaxed) else {
            let error = LookupFailure(host: host, detail: "given up")
            self.v6.fail(error)
            return self.v4.fail(error)
        }
        var hints = addrinfo()
        hints.ai_family = AF_UNSPEC
        hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        hints.ai_protocol = CInt(IPPROTO_TCP)
        var first: UnsafeMutablePointer<addrinfo>?
        let status = getaddrinfo(host, String(port), &hints, &first)
        guard status == 0 else {
            let error = LookupFailure(host: host, detail: String(cString: gai_strerror(status)))
            self.v6.fail(error)
            self.v4.fail(error)
            return
        }
        defer { freeaddrinfo(first) }
        var (v4, v6): ([SocketAddress], [SocketAddress]) = ([], [])
        var entry = first
        while let info = entry?.pointee {
            // `ai_family` says whether the pointer is to a `sockaddr_in` or a `sockaddr_in6`.
            if info.ai_family == AF_INET, let address = info.ai_addr {
                v4.append(
                    address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                        SocketAddress($0.pointee, host: host)
                    })
            } else if info.ai_family == AF_INET6, let address = info.ai_addr {
                v6.append(
                    address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                        SocketAddress($0.pointee, host: host)
                    })
            }
            entry = info.ai_next
        }
        var random = SplitMix64(seed: self.seed)
        self.v6.succeed(Self.spread(v6, inUse: self.inUse, using: &random))
        self.v4.succeed(Self.spread(v4, inUse: self.inUse, using: &random))
    }

    /// Sorts addresses by their number of connections, fewest first. The order among equals is random.
    static func spread(
        _ addresses: [SocketAddress], inUse: [String: Int], using random: inout some RandomNumberGenerator
    ) -> [SocketAddress] {
        let drawn = addresses.shuffled(using: &random).enumerated().map { order, address in
            (count: inUse[address.ipAddress ?? ""] ?? 0, order: order, address: address)
        }
        return drawn.sorted { ($0.count, $0.order) < ($1.count, $1.order) }.map(\.address)
    }
}

/// A name could not be looked up.
struct LookupFailure: Error, CustomStringConvertible {
    var host: String
    var detail: String
    var description: String { "looking up \(self.host): \(self.detail)" }
}
