import APNSProtocol
import PushModel
import Testing

/// Tests of a proxy's answer to CONNECT, in any number of pieces.
struct ProxyTunnelTests {
    /// Feeds the answer whole, in two pieces for each cut in the first 200 bytes, and byte by byte. The final state
    /// must be the same each time.
    private static func end(_ text: String, sourceLocation: SourceLocation = #_sourceLocation) -> ProxyTunnel.State {
        let bytes = Array(text.utf8)
        var whole = ProxyTunnel()
        let state = whole.received(bytes.span)
        for cut in 0...min(bytes.count, 200) {
            var tunnel = ProxyTunnel()
            _ = tunnel.received(bytes.span.extracting(..<cut))
            let other = tunnel.received(bytes.span.extracting(cut...))
            #expect(other == state, "cut at \(cut)", sourceLocation: sourceLocation)
        }
        var single = ProxyTunnel()
        for index in bytes.indices { _ = single.received(bytes.span.extracting(index..<index + 1)) }
        let last = single.state
        #expect(last == state, sourceLocation: sourceLocation)
        return state
    }

    @Test(arguments: [
        "HTTP/1.1 200 Connection established\r\n\r\n", "HTTP/1.0 200 OK\r\nVia: 1.0 tinyproxy\r\n\r\n",
        "HTTP/1.1 299\r\n\r\n", "HTTP/1.1 200 \n\n",
        "HTTP/1.1 200 x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
    ])
    func aTunnelIsOpen(text: String) { #expect(Self.end(text) == .open) }

    @Test(arguments: [
        "", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\r\nVia: x\r\n", "HTT", "HTTP/1.1 100 Continue\r\n\r\n",
    ])
    func anAnswerThatHasNotEndedIsWaitedFor(text: String) {
        #expect(Self.end(text) == .waiting)
        var tunnel = ProxyTunnel()
        _ = tunnel.received(Array(text.utf8).span)
        let closed = tunnel.closed()
        #expect(closed == .refused(.closed))
    }

    @Test func aStatusIsTold() {
        #expect(
            Self.end("HTTP/1.1 403 Filtered\r\nServer: x\r\n\r\n")
                == .refused(.status(403, reason: "Filtered", schemes: [])))
        #expect(
            Self.end(
                "HTTP/1.0 407 Who\u{7}?\r\nProxy-Authenticate: Negotiate\r\nPROXY-AUTHENTICATE:Basic realm=\"a\"\r\nproxy-authenticate: a\r\nproxy-authenticate: b\r\nproxy-authenticate: c\r\n\r\n<html>"
            ) == .refused(.status(407, reason: "Who??", schemes: ["Negotiate", "Basic", "a", "b"])))
        #expect(Self.end("HTTP/1.1 502\r\n\r\n") == .refused(.status(502, reason: "", schemes: [])))
        let long = String(repeating: "x", count: 1_000)
        guard case .refused(.status(500, let reason, _)) = Self.end("HTTP/1.1 500 \(long)\r\n\r\n") else {
            Issue.record("it is not refused for its status")
            return
        }
        #expect(reason.utf8.count == 64)
    }

    @Test(arguments: [
        "SSH-2.0-OpenSSH_9.2", "\u{15}\u{3}\u{3}", "HTTP/2 200 OK\r\n\r\n", "HTTP/1.1 abc\r\n", "HTTP/1.1 99 x\r\n",
        "HTTP/1.1 600 x\r\n", "HTTP/1.1\r\n", "\r\n", "http/1.1 200 OK\r\n", "HTTP/1.12 200 OK\r\n",
    ])
    func whatIsNoHTTPIsRefused(text: String) { #expect(Self.end(text) == .refused(.notHTTP)) }

    @Test func whoeverSpeaksBehindTheAnswerIsNoProxy() {
        #expect(Self.end("HTTP/1.1 200 OK\r\n\r\nhello") == .refused(.spokeFirst))
    }

    @Test func aHeadWithoutAnEndIsRefused() {
        let fields = String(repeating: "x-field: value\r\n", count: 2_000)
        #expect(Self.end("HTTP/1.1 200 OK\r\n" + fields) == .refused(.headTooLong))
        let line = String(repeating: "x", count: 20_000)
        #expect(Self.end("HTTP/1.1 200 " + line) == .refused(.headTooLong))
        let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1_000)
        #expect(Self.end(interim) == .refused(.headTooLong))
    }

    /// With any bytes, the tunnel never traps, and a refusal never changes.
    @Test(arguments: 1...300 as ClosedRange<UInt64>) func anythingMayCome(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let pieces = [
            "HTTP/1.1 ", "200", "407", " ", "\r\n", "\n", "\r", ":", "proxy-authenticate: ", "x", "\u{0}", "é",
        ]
        var tunnel = ProxyTunnel()
        var refused: ProxyTunnel.State?
        for _ in 0..<200 {
            let text = pieces.randomElement(using: &random) ?? ""
            let state = tunnel.received(Array(text.utf8).span)
            if let refused { #expect(state == refused, "seed \(seed)") }
            if case .refused = state { refused = state }
        }
    }

    @Test func theRequestNamesTheTarget() {
        func text(_ host: String, _ authorization: String?) -> String {
            String(
                decoding: ProxyTunnel.request(
                    host: host, port: 443, authorization: authorization.map { Array($0.utf8) }), as: UTF8.self)
        }
        #expect(
            text("api.push.apple.com", nil)
                == "CONNECT api.push.apple.com:443 HTTP/1.1\r\nHost: api.push.apple.com:443\r\n\r\n")
        #expect(
            text("2001:db8::1", "Basic YTpi")
                == "CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\nProxy-Authorization: Basic YTpi\r\n\r\n"
        )
    }
}
