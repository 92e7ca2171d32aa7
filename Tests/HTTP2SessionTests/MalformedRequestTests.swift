import HTTP2Session
import Testing

/// Tests of requests that are malformed by RFC 9113 §8. The test writes the frames itself. The server answers each
/// request with RST_STREAM PROTOCOL_ERROR, and the connection stays open.
struct MalformedRequestTests {
    private static let pseudo = [
        (":method", "POST"), (":scheme", "https"), (":authority", "localhost"), (":path", "/3/device/00"),
    ]

    struct Case: Sendable, CustomTestStringConvertible {
        var name: String
        var fields: [(String, String)]
        /// Body of the request; `nil` if the request ends with its headers.
        var body: String?
        var says = "Invalid HTTP header field"
        var testDescription: String { self.name }
    }

    static let malformed: [Case] = [
        Case(name: "a name in capitals", fields: pseudo + [("Apns-Topic", "x")]),
        Case(name: "connection", fields: pseudo + [("connection", "close")]),
        Case(name: "keep-alive", fields: pseudo + [("keep-alive", "1")]),
        Case(name: "proxy-connection", fields: pseudo + [("proxy-connection", "close")]),
        Case(name: "transfer-encoding", fields: pseudo + [("transfer-encoding", "chunked")]),
        Case(name: "upgrade", fields: pseudo + [("upgrade", "h2c")]),
        Case(name: "te other than trailers", fields: pseudo + [("te", "gzip")]),
        Case(name: "no :method", fields: pseudo.filter { $0.0 != ":method" }, says: "Violation in HTTP messaging"),
        Case(name: "no :path", fields: pseudo.filter { $0.0 != ":path" }, says: "Violation in HTTP messaging"),
        Case(name: "no :scheme", fields: pseudo.filter { $0.0 != ":scheme" }, says: "Violation in HTTP messaging"),
        Case(name: ":path twice", fields: pseudo + [(":path", "/3/device/01")]),
        Case(name: "an unknown pseudo-header", fields: pseudo + [(":token", "00")]),
        Case(name: "a response's pseudo-header", fields: pseudo + [(":status", "200")]),
        Case(name: "a pseudo-header behind a field", fields: [("a", "b")] + pseudo),
        Case(
            name: "content-length above the body", fields: pseudo + [("content-length", "3")], body: "ab",
            says: "content-length"),
        Case(
            name: "content-length below the body", fields: pseudo + [("content-length", "1")], body: "ab",
            says: "content-length"),
        Case(
            name: "content-length twice", fields: pseudo + [("content-length", "2"), ("content-length", "2")],
            body: "ab"),
        Case(name: "content-length in words", fields: pseudo + [("content-length", "two")], body: "ab"),
        Case(
            name: "a line's end in a value", fields: pseudo + [("a", "b\nc")],
            says: "a field that HTTP does not allow: “a”"),
        Case(name: "NUL in a value", fields: pseudo + [("a", "b\0c")], says: "a field that HTTP does not allow: “a”"),
        Case(
            name: "an escape in a value", fields: pseudo + [("a", "\u{1B}[2J")],
            says: "a field that HTTP does not allow: “a”"),
        Case(
            name: "a space in a name", fields: pseudo + [("a b", "c")], says: "a field that HTTP does not allow: “a b”"),
        Case(name: "an empty name", fields: pseudo + [("", "c")], says: "a field that HTTP does not allow: “”"),
    ]

    @Test(arguments: Self.malformed)
    func isReset(_ one: Case) {
        let server = HTTP2ServerSession()
        var bytes = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.frame(type: 4, flags: 0, streamID: 0, [])
        bytes += Self.request(one.fields, body: one.body, streamID: 1)
        bytes += Self.request(Self.pseudo + [("te", "trailers"), ("content-length", "2")], body: "ab", streamID: 3)
        server.receive(bytes.span.bytes)
        var output: [UInt8] = []
        server.drain(appendingTo: &output)

        #expect(Self.resets(in: output) == [1: 1])
        #expect(server.hasMalformedRequests)
        var batch = HTTP2ServerEvents()
        server.takeEvents(into: &batch)
        #expect(!server.hasMalformedRequests)
        var (requests, details): ([Int32], [String]) = ([], [])
        for event in batch.events {
            switch event {
            case .request(let request): requests.append(request.streamID)
            case .requestMalformed(let streamID, let detail):
                #expect(streamID == 1)
                details.append(String(decoding: batch.bytes[detail], as: UTF8.self))
            default: continue
            }
        }
        #expect(requests == [3])
        #expect(details.count == 1 && details[0].contains(one.says), "\(details)")
    }

    /// If the session's owner resets a stream, its request does not count as malformed.
    @Test func theOwnersResetIsNoMalformation() {
        let pipe = HTTP2Pipe()
        pipe.onRequest = { server, request in server.reset(streamID: request.streamID, errorCode: .protocolError) }
        pipe.submit(1)
        pipe.run()
        #expect(pipe.failures == [1: .resetByPeer(.protocolError)])
        #expect(pipe.malformations.isEmpty)
    }

    /// The size of a field list includes 32 bytes for each field, as in SETTINGS_MAX_HEADER_LIST_SIZE.
    @Test func theFieldListIsCounted() {
        let server = HTTP2ServerSession()
        let bytes =
            Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8) + Self.frame(type: 4, flags: 0, streamID: 0, [])
            + Self.request(Self.pseudo, body: nil, streamID: 1)
        server.receive(bytes.span.bytes)
        var batch = HTTP2ServerEvents()
        server.takeEvents(into: &batch)
        let sizes = batch.events.compactMap { event -> Int? in
            guard case .request(let request) = event else { return nil }
            return request.fieldListByteCount
        }
        #expect(sizes == [Self.pseudo.reduce(0) { $0 + $1.0.utf8.count + $1.1.utf8.count + 32 }])
    }

    // MARK: Frames (RFC 9113 §4.1) and literals without indexing (RFC 7541 §6.2.2)

    private static func frame(type: UInt8, flags: UInt8, streamID: UInt8, _ payload: [UInt8]) -> [UInt8] {
        let count = payload.count
        return [UInt8(count >> 16), UInt8(count >> 8 & 255), UInt8(count & 255), type, flags, 0, 0, 0, streamID]
            + payload
    }

    private static func request(_ fields: [(String, String)], body: String?, streamID: UInt8) -> [UInt8] {
        var block: [UInt8] = []
        for (name, value) in fields {
            block.append(0)
            for text in [name, value] { block += [UInt8(text.utf8.count)] + Array(text.utf8) }
        }
        let headers = Self.frame(type: 1, flags: body == nil ? 5 : 4, streamID: streamID, block)
        return headers + (body.map { Self.frame(type: 0, flags: 1, streamID: streamID, Array($0.utf8)) } ?? [])
    }

    /// The error codes of RST_STREAM frames in the output, by stream id.
    private static func resets(in output: [UInt8]) -> [UInt8: UInt8] {
        var (resets, index): ([UInt8: UInt8], Int) = ([:], 0)
        while index + 9 <= output.count {
            let count = Int(output[index]) << 16 | Int(output[index + 1]) << 8 | Int(output[index + 2])
            if output[index + 3] == 3 { resets[output[index + 8]] = output[index + 12] }
            index += 9 + count
        }
        return resets
    }
}
