/// Reads the head of an HTTP proxy's answer to CONNECT (RFC 9110 §9.3.6, RFC 9112 §4), which arrives after TCP and
/// before TLS. The type is pure: the caller passes the bytes that arrive.
///
/// At the other end of a tunnel, APNs waits for the client to send first. Bytes after the head are therefore not from
/// APNs, and are refused.
public struct ProxyTunnel: Sendable {
    /// The state of the tunnel.
    public enum State: Equatable, Sendable {
        /// The head is not complete.
        case waiting
        /// The tunnel is open: everything written from now on goes to the target.
        case open
        /// The proxy made no tunnel. This state is final.
        case refused(ProxyRefusal)
    }

    /// Longest head that is read, bytes. A longer head is refused.
    public static let headByteCountMax = 16_384
    /// Maximum number of bytes kept of the proxy's reason, and of each scheme.
    public static let textByteCountMax = 64
    /// Maximum number of schemes of `proxy-authenticate` that are kept.
    static let schemeCountMax = 4

    /// The state of the tunnel.
    public private(set) var state = State.waiting
    private var byteCount = 0
    private var line: [UInt8] = []
    /// The status line of the head that is being read; `nil` until the line is complete.
    private var status: (code: UInt16, reason: String)?
    private var schemes: [String] = []

    /// A tunnel before the proxy's first byte.
    public init() {}

    /// The request for a tunnel.
    /// - Parameters:
    ///   - host: a name or an address, without brackets.
    ///   - authorization: the value of `proxy-authorization`, a secret; `nil` for none.
    public static func request(host: String, port: Int, authorization: [UInt8]?) -> [UInt8] {
        let target = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        var request = Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n".utf8)
        if let authorization { request += Array("Proxy-Authorization: ".utf8) + authorization + [0x0d, 0x0a] }
        return request + [0x0d, 0x0a]
    }

    /// Takes bytes that arrived from the proxy.
    public mutating func received(_ bytes: Span<UInt8>) -> State {
        for index in bytes.indices {
            switch self.state {
            case .waiting: self.take(bytes[index])
            // These bytes follow the end of the answer.
            case .open: self.state = .refused(.spokeFirst)
            case .refused: return self.state
            }
        }
        return self.state
    }

    /// Takes note that the connection has ended.
    public mutating func closed() -> State {
        switch self.state {
        case .waiting: self.state = .refused(.closed)
        case .open, .refused: break
        }
        return self.state
    }

    private mutating func take(_ byte: UInt8) {
        self.byteCount += 1
        guard self.byteCount <= Self.headByteCountMax else { return self.refuse(.headTooLong) }
        guard byte == UInt8(ascii: "\n") else {
            self.line.append(byte)
            // Bytes that are not HTTP might never contain a line's end, so the beginning of the line is checked
            // already.
            if self.status == nil, !self.mayBeStatusLine { self.refuse(.notHTTP) }
            return
        }
        if self.line.last == UInt8(ascii: "\r") { self.line.removeLast() }
        self.lineEnded()
        self.line.removeAll(keepingCapacity: true)
    }

    private var mayBeStatusLine: Bool { zip(self.line, "HTTP/1.".utf8).allSatisfy { $0 == $1 } }

    private mutating func lineEnded() {
        if let status = self.status {
            if self.line.isEmpty { self.headEnded(status) } else { self.readField() }
        } else if let status = Self.status(self.line) {
            self.status = status
        } else {
            self.refuse(.notHTTP)
        }
    }

    private mutating func headEnded(_ status: (code: UInt16, reason: String)) {
        switch status.code {
        case 200...299: self.state = .open
        // An interim answer: the final one follows. Its bytes count towards `headByteCountMax`.
        case 100...199: (self.status, self.schemes) = (nil, [])
        default: self.refuse(.status(status.code, reason: status.reason, schemes: self.schemes))
        }
    }

    private mutating func refuse(_ refusal: ProxyRefusal) { self.state = .refused(refusal) }

    /// Parses a line such as `HTTP/1.1 200 Connection established`.
    private static func status(_ line: [UInt8]) -> (code: UInt16, reason: String)? {
        let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0].starts(with: "HTTP/1.".utf8), words[0].count == 8, words[1].count == 3,
            let code = UInt16(String(decoding: words[1], as: UTF8.self)), (100...599).contains(code)
        else { return nil }
        return (code, words.count > 2 ? Self.shown(words[2]) : "")
    }

    /// Reads `proxy-authenticate`, which names the schemes that a proxy accepts. Other fields are ignored.
    private mutating func readField() {
        guard let colon = self.line.firstIndex(of: UInt8(ascii: ":")),
            String(decoding: self.line[..<colon], as: UTF8.self).lowercased() == "proxy-authenticate",
            self.schemes.count < Self.schemeCountMax
        else { return }
        let value = self.line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
        let scheme = Self.shown(value.prefix { $0 != 0x20 && $0 != UInt8(ascii: ",") })
        if !scheme.isEmpty { self.schemes.append(scheme) }
    }

    /// The beginning of the text, fit for a log line: each byte that is not visible ASCII or a space becomes `?`.
    private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
        let visible = bytes.prefix(Self.textByteCountMax).map { (0x20...0x7e).contains($0) ? $0 : UInt8(ascii: "?") }
        return String(decoding: visible, as: UTF8.self)
    }
}

/// Why an HTTP proxy has made no tunnel.
public enum ProxyRefusal: Equatable, Sendable {
    /// The status was not 2xx. The case has the reason phrase and the schemes of `proxy-authenticate`.
    case status(UInt16, reason: String, schemes: [String])
    /// The answer is not HTTP/1.
    case notHTTP
    /// The head of the answer does not end within `ProxyTunnel.headByteCountMax`.
    case headTooLong
    /// Bytes followed the proxy's answer, before anything was sent into the tunnel.
    case spokeFirst
    /// The connection ended before the answer was complete.
    case closed
}
