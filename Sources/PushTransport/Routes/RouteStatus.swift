public import APNSPool
import Glibc
import NIOCore
import NIOPosix
import TLSSession

/// State of one route of one shard, as an operator sees it.
public struct RouteStatus: Sendable, Equatable {
    /// Whether pushes take this route. If not, only requests about channels do.
    public var carriesPushes = true
    /// The host that connections are made to.
    public var host = ""
    /// The port that connections are made to.
    public var port = 0
    /// The proxy to the host, without its credentials; `nil` if connections are direct.
    public var proxy: String?
    /// Why nothing can be pushed; `nil` if no trouble is known.
    public var trouble: RouteTrouble?
    /// Whether a connection has ever offered streams.
    public var wasReached = false
    /// Why the last failed connection could not be made, in words; empty if none has failed.
    public var connectFailure = ""
    /// APNs' last reason for a refusal that concerned more than a single push; empty if there was none.
    public var reason = ""

    /// The status of a new route.
    public init() {}
}

extension ConnectFault {
    /// Derives the fault from a TLS error: the peer is not APNs, or the network failed.
    init(_ error: TLSError) {
        switch error.kind {
        case .certificateRejected, .noApplicationProtocol, .alertReceived, .handshakeFailed, .badRecord:
            self = .notAPNs
        case .badKeyMaterial, .badTrustRoots, .truncated, .library: self = .network
        }
    }
}

/// Describes errors of connecting in an operator's words.
package enum ConnectError {
    /// Says why connecting failed at all addresses. A reason that several addresses share appears once.
    package static func text(_ error: any Error) -> String {
        guard let error = error as? NIOConnectionError else { return Self.textOfOne(error) }
        var texts: [String] = []
        let all = error.connectionErrors.map(\.error) + [error.dnsAError, error.dnsAAAAError].compactMap { $0 }
        for text in all.map(Self.textOfOne) where !texts.contains(text) { texts.append(text) }
        return texts.isEmpty ? "\(error)" : texts.joined(separator: "; ")
    }

    private static func textOfOne(_ error: any Error) -> String {
        if let error = error as? IOError { return String(cString: strerror(error.errnoCode)) }
        if case .connectTimeout(let limit)? = error as? ChannelError {
            return "no TCP connection within \(limit.nanoseconds / 1_000_000) ms"
        }
        return "\(error)"
    }
}
