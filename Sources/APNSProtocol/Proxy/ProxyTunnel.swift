/// The head of an HTTP proxy's answer to CONNECT, and what it means (RFC 9110 §9.3.6, RFC 9112 §4): the step between TCP and TLS. Pure: told the bytes
/// that come.
///
/// At the other end of a tunnel APNs waits for the client to speak. So bytes behind the head are no part of it, and refused.
public struct ProxyTunnel: Sendable {
    /// Where it stands.
    public enum State: Equatable, Sendable {
        /// The head is not complete.
        case waiting
        /// What is written from here on goes to the target.
        case open
        /// There is no tunnel. The end.
        case refused(ProxyRefusal)
    }

    /// A longer head is refused.
    public static let headByteCountMax = 16_384
    /// Longest part of a text of the proxy's that is kept, bytes.
    public static let textByteCountMax = 64
    /// Schemes of `proxy-authenticate` that are kept.
    static let schemeCountMax = 4

    /// Where it stands.
    public private(set) var state = State.waiting
    private var byteCount = 0
    private var line: [UInt8] = []
    /// The first line of the head being read; `nil`: it has not come.
    private var status: (code: UInt16, reason: String)?
    private var schemes: [String] = []

    /// Nothing has come yet.
    public init() {}

    /// The request for a tunnel.
    /// - Parameters:
    ///   - host: a name or an address, without brackets.
    ///   - authorization: the value of `proxy-authorization`; `nil`: none. A secret.
    public static func request(host: String, port: Int, authorization: [UInt8]?) -> [UInt8] {
        let target = host.utf8.contains(UInt8(ascii: ":")) ? "[\(host)]:\(port)" : "\(host):\(port)"
        var request = Array("CONNECT \(target) HTTP/1.1\r\nHost: \(target)\r\n".utf8)
        if let authorization { request += Array("Proxy-Authorization: ".utf8) + authorization + [0x0d, 0x0a] }
        return request + [0x0d, 0x0a]
    }

    /// Bytes came from the proxy.
    public mutating func received(_ bytes: Span<UInt8>) -> State {
        for index in bytes.indices {
            switch self.state {
            case .waiting: self.take(bytes[index])
            // The answer has ended, and this is behind it.
            case .open: self.state = .refused(.spokeFirst)
            case .refused: return self.state
            }
        }
        return self.state
    }

    /// The connection has ended.
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
            // What is no HTTP may never end a line.
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
        // Something before the answer proper. It counts towards the limit.
        case 100...199: (self.status, self.schemes) = (nil, [])
        default: self.refuse(.status(status.code, reason: status.reason, schemes: self.schemes))
        }
    }

    private mutating func refuse(_ refusal: ProxyRefusal) { self.state = .refused(refusal) }

    /// `HTTP/1.1 200 Connection established`.
    private static func status(_ line: [UInt8]) -> (code: UInt16, reason: String)? {
        let words = line.split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0].starts(with: "HTTP/1.".utf8), words[0].count == 8, words[1].count == 3,
            let code = UInt16(String(decoding: words[1], as: UTF8.self)), (100...599).contains(code)
        else { return nil }
        return (code, words.count > 2 ? Self.shown(words[2]) : "")
    }

    /// Takes the one field that says what a proxy wants to know.
    private mutating func readField() {
        guard let colon = self.line.firstIndex(of: UInt8(ascii: ":")),
            String(decoding: self.line[..<colon], as: UTF8.self).lowercased() == "proxy-authenticate",
            self.schemes.count < Self.schemeCountMax
        else { return }
        let value = self.line[(colon + 1)...].drop { $0 == 0x20 || $0 == 0x09 }
        let scheme = Self.shown(value.prefix { $0 != 0x20 && $0 != UInt8(ascii: ",") })
        if !scheme.isEmpty { self.schemes.append(scheme) }
    }

    /// Visible ASCII characters and spaces, fit for a line of text.
    private static func shown(_ bytes: ArraySlice<UInt8>) -> String {
        let visible = bytes.prefix(Self.textByteCountMax).map { (0x20...0x7e).contains($0) ? $0 : UInt8(ascii: "?") }
        return String(decoding: visible, as: UTF8.self)
    }
}

/// Why an HTTP proxy has made no tunnel.
public enum ProxyRefusal: Equatable, Sendable {
    /// Another status than 2xx, with the words beside it and the schemes of `proxy-authenticate`.
    case status(UInt16, reason: String, schemes: [String])
    /// What came is no answer of HTTP/1.
    case notHTTP
    /// The head of its answer has no end within `ProxyTunnel.headByteCountMax`.
    case headTooLong
    /// Bytes came behind its answer, before anything was sent into the tunnel.
    case spokeFirst
    /// The connection ended before the answer.
    case closed
}
