public import APNSPool
import Glibc
import NIOCore
import NIOPosix
import TLSSession

/// State of one route of one shard, for an operator.
public struct RouteStatus: Sendable, Equatable {
    /// Whether pushes take this route. If not, only requests about channels do.
    public var carriesPushes = true
    /// The host that connections are made to.
    public var host = ""
    /// The port that connections are made to.
    public var port = 0
    /// The proxy in between, as it may be shown; `nil` if connections are direct.
    public var proxy: String?
    /// Why nothing can be pushed; `nil` if no trouble is known.
    public var trouble: RouteTrouble?
    /// Whether a connection has offered streams at least once.
    public var wasReached = false
    /// Why the last connection could not be made, in words; empty if it could.
    public var connectFailure = ""
    /// APNs' last reason for refusing more than a single push; empty if there is none.
    public var reason = ""

    /// The status of a new route.
    public init() {}
}

extension ConnectFault {
    /// What a failed TLS session says about the peer.
    init(_ error: TLSError) {
        switch error.kind {
        case .certificateRejected, .noApplicationProtocol, .alertReceived, .handshakeFailed, .badRecord:
            self = .notAPNs
        case .badKeyMaterial, .badTrustRoots, .truncated, .library: self = .network
        }
    }
}

/// Errors of connecting, in an operator's words.
package enum ConnectError {
    /// The kinds of failures of all addresses tried, each once.
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
