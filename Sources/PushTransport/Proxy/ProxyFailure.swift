import APNSProtocol

/// Why a proxy made no tunnel and what to do, in an operator's words.
public struct ProxyFailure: Error, Equatable, Sendable, CustomStringConvertible {
    enum Cause: Equatable {
        /// TCP did not connect to the proxy, or the connection broke.
        case unreachable(String)
        /// The proxy did not answer CONNECT within the limit.
        case silent(limitMillis: Int64)
        case refused(ProxyRefusal)
        /// User and password cannot be read from their file.
        case credentials(String)
    }

    private let proxy: String
    private let target: String
    private let hasCredentials: Bool
    private let cause: Cause

    init(_ cause: Cause, _ proxy: ProxyAccess, to target: (host: String, port: Int)) {
        self.proxy = "the proxy \(proxy.shown)"
        self.target = "\(target.host):\(target.port)"
        self.hasCredentials = proxy.credentialsFile != nil
        self.cause = cause
    }

    /// What happened, as a clause.
    public var text: String {
        switch self.cause {
        case .unreachable(let why): "\(self.proxy) cannot be reached: \(why)"
        case .silent(let limitMillis): "\(self.proxy) has not answered CONNECT within \(limitMillis) ms"
        case .credentials(let why): "user and password for \(self.proxy) cannot be read: \(why)"
        case .refused(.status(let code, let reason, _)):
            "\(self.proxy) answers CONNECT to \(self.target) with \(code)\(reason.isEmpty ? "" : " \(reason)")"
        case .refused(.notHTTP): "\(self.proxy) answers CONNECT with something else than HTTP/1"
        case .refused(.headTooLong):
            "\(self.proxy) answers CONNECT with a head of more than \(ProxyTunnel.headByteCountMax) bytes"
        case .refused(.spokeFirst): "\(self.proxy) sends bytes behind its answer to CONNECT"
        case .refused(.closed): "\(self.proxy) closed the connection without an answer to CONNECT"
        }
    }

    /// What the operator should do, as a clause.
    public var remedy: String {
        switch self.cause {
        case .unreachable, .silent: "check apns.proxy, and that the proxy runs and firewalls let TCP to it"
        case .credentials: "apns.proxy-credentials-file names a file with user:password that the worker may read"
        case .refused(.status(407, _, let schemes)): self.remedyOfCredentials(schemes)
        case .refused(.status(500...599, _, _)): "look at the proxy's log: it cannot reach \(self.target)"
        case .refused(.status(400...499, _, _)): "let the proxy's rules allow CONNECT to \(self.target)"
        case .refused(.closed), .refused(.status): "look at the proxy's log: it has to allow CONNECT to \(self.target)"
        case .refused(.notHTTP), .refused(.headTooLong), .refused(.spokeFirst):
            "the server that answers is not an HTTP proxy that makes tunnels: check host and port of apns.proxy"
        }
    }

    private func remedyOfCredentials(_ schemes: [String]) -> String {
        guard schemes.isEmpty || schemes.contains(where: { $0.lowercased() == "basic" }) else {
            return "let the proxy take the scheme Basic: it asks for \(schemes.joined(separator: ", "))"
        }
        return self.hasCredentials
            ? "put the user and password that it takes into the file of apns.proxy-credentials-file"
            : "put user:password into a file, and name it in apns.proxy-credentials-file"
    }

    public var description: String { "\(self.text): \(self.remedy)" }
}
