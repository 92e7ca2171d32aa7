import APNSProtocol
public import PushModel

/// Fuzzes a proxy's answer to CONNECT. The result must be the same for the whole answer and for pieces of it. A tunnel
/// needs an HTTP/1 head, and a status of 2xx is never a refusal.
public struct ProxyTarget: FuzzTarget {
    public static let name = "proxy"
    public static let seeds: [[UInt8]] = [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\nProxy-agent: tinyproxy/1.11.1\r\n\r\n",
        "HTTP/1.1 407 Proxy Authentication Required\r\nServer: squid/5.7\r\nProxy-Authenticate: Basic realm=\"x\"\r\n\r\n<html>",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 503 Service Unavailable\r\n\r\n",
    ].map { Array($0.utf8) }
    public static let pieces: [[UInt8]] = [
        "HTTP/1.1 ", "HTTP/1.0 ", "200", "100", "407", "599", " ", "\r\n", "\n", "\r", "\r\n\r\n", ":", ",",
        "proxy-authenticate", "Basic", "\u{0}", "é",
    ].map { Array($0.utf8) }

    public init() {}

    public mutating func read(_ input: [UInt8], random: inout SplitMix64) -> String? {
        var whole = ProxyTunnel()
        let state = whole.received(input.span)
        var cut = ProxyTunnel()
        var start = 0
        while start < input.count {
            let end = min(input.count, start + random.oneOf([1, 2, 7, 100]))
            _ = cut.received(input.span.extracting(start..<end))
            start = end
        }
        if cut.state != state { return "in pieces it is \(cut.state), and whole \(state)" }
        switch state {
        case .waiting:
            if input.count > ProxyTunnel.headByteCountMax { return "\(input.count) bytes are waited behind" }
        case .open:
            if !input.starts(with: "HTTP/1.".utf8) || input.last != UInt8(ascii: "\n") {
                return "a tunnel without a head"
            }
        case .refused(.status(let code, let reason, let schemes)):
            if (200...299).contains(code) { return "a \(code) is refused" }
            let isShort = ([reason] + schemes).allSatisfy { $0.utf8.count <= ProxyTunnel.textByteCountMax }
            let isPlain = (reason + schemes.joined()).utf8.allSatisfy { (0x20...0x7e).contains($0) }
            if !isShort || !isPlain { return "its words are not fit for a log" }
        case .refused: break
        }
        return nil
    }
}
