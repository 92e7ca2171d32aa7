import HTTP2Session
public import PushModel

/// Fuzzes the bytes that a server sends on a client's connection.
public struct HTTP2Target: FuzzTarget {
    public static let name = "http2"

    /// Complete frames (RFC 9113 §6), many of them unusual, and two frame lengths.
    public static let pieces: [[UInt8]] = [
        frame(type: 4), frame(type: 4, flags: 1), frame(type: 4, payload: [0, 3, 0, 0, 0, 1]),
        frame(type: 4, payload: [0, 3, 0, 0, 0, 0]), frame(type: 4, payload: [0, 1, 0, 0, 0, 0]),
        frame(type: 4, payload: [0, 4, 0x7F, 0xFF, 0xFF, 0xFF]), frame(type: 4, payload: [0, 5, 0, 0xFF, 0xFF, 0xFF]),
        frame(type: 6, payload: [1, 2, 3, 4, 5, 6, 7, 8]),
        frame(type: 6, flags: 1, payload: [UInt8](repeating: 0, count: 8)),
        frame(type: 7, payload: [0, 0, 0, 0, 0, 0, 0, 0]),
        frame(type: 7, payload: [0, 0, 0, 3, 0, 0, 0, 11, 0x7B, 0x22]),
        frame(type: 3, stream: 1, payload: [0, 0, 0, 7]), frame(type: 3, stream: 3, payload: [0, 0, 0, 8]),
        frame(type: 8, payload: [0, 0, 0, 0]), frame(type: 8, payload: [0x7F, 0xFF, 0xFF, 0xFF]),
        frame(type: 8, stream: 1, payload: [0, 1, 0, 0]), frame(type: 0, flags: 1, stream: 1, payload: [0x7B]),
        frame(type: 1, flags: 5, stream: 1, payload: [0x88]), frame(type: 1, flags: 4, stream: 3, payload: [0x88]),
        frame(type: 1, flags: 0, stream: 5, payload: [0x88]), frame(type: 9, flags: 4, stream: 5, payload: [0x88]),
        frame(type: 5, flags: 4, stream: 1, payload: [0, 0, 0, 2, 0x88]),
        frame(type: 2, stream: 1, payload: [0, 0, 0, 0, 1]),
        frame(type: 0xFA, payload: [1]), [0, 0, 0], [0xFF, 0xFF, 0xFF],
    ]

    static func frame(type: UInt8, flags: UInt8 = 0, stream: UInt8 = 0, payload: [UInt8] = []) -> [UInt8] {
        [0, 0, UInt8(payload.count), type, flags, 0, 0, 0, stream] + payload
    }

    private static let requestCount: UInt32 = 12

    public init() {}

    /// Answers of the present server code to `requestCount` requests, in three variants.
    public static var seeds: [[UInt8]] {
        (0..<3).map { mood in
            var client = Client()
            let server = HTTP2ServerSession()
            var (said, batch) = ([UInt8](), HTTP2ServerEvents())
            for _ in 0..<4 {
                server.receive(client.drain().span.bytes)
                server.takeEvents(into: &batch)
                for event in batch.events {
                    guard case .request(let request) = event else { continue }
                    let isGood = mood == 0 || request.streamID % 3 != 0
                    server.respond(
                        streamID: request.streamID,
                        HTTP2HeaderTemplate([.fixed(":status", isGood ? "200" : "410"), .fixed("apns-id", "abc")]),
                        values: HTTP2HeaderValues(),
                        body: isGood ? [] : Array(#"{"reason":"Unregistered","timestamp":1685952000000}"#.utf8))
                }
                if mood == 2 { server.goAway(debugData: Array(#"{"reason":"Shutdown"}"#.utf8)) }
                var output: [UInt8] = []
                server.drain(appendingTo: &output)
                said += output
                client.receive(output)
            }
            return said
        }
    }

    public mutating func read(_ input: [UInt8], random: inout SplitMix64) -> String? {
        var client = Client()
        _ = client.drain()
        var rest = input[...]
        while !rest.isEmpty {
            let count = random.oneOf([1, 7, 9, 100, 20_000])
            client.receive(Array(rest.prefix(count)))
            rest = rest.dropFirst(count)
            _ = client.drain()
        }
        client.session.connectionLost()
        client.takeEvents()
        return client.complaint()
    }

    /// A client session with requests on their way, and how often each request has ended.
    private struct Client {
        let session = HTTP2ClientSession()
        private var batch = HTTP2ClientEvents()
        private var ends = [UInt32: Int]()
        private var submitted = Set<UInt32>()
        private var outOfRange = false

        init() {
            let template = HTTP2HeaderTemplate([
                .fixed(":method", "POST"), .fixed(":scheme", "https"), .fixed(":path", "/3/device/00"),
                .fixed(":authority", "api.push.apple.com"),
            ])
            for tag in 0..<HTTP2Target.requestCount {
                let result = self.session.submit(
                    template, values: HTTP2HeaderValues(), body: Array("{\"aps\":{}}".utf8), tag: tag)
                if case .submitted = result { self.submitted.insert(tag) }
            }
        }

        mutating func drain() -> [UInt8] {
            var bytes: [UInt8] = []
            self.session.drain(appendingTo: &bytes, byteCountMax: 1_000_000)
            self.takeEvents()
            return bytes
        }

        mutating func receive(_ bytes: [UInt8]) {
            self.session.receive(bytes.span.bytes)
            self.takeEvents()
        }

        mutating func takeEvents() {
            self.session.takeEvents(into: &self.batch)
            for event in self.batch.events {
                switch event {
                case .responseFinished(let tag, _, _, let body, _, _):
                    self.ends[tag, default: 0] += 1
                    if body.upperBound > self.batch.bytes.count { self.outOfRange = true }
                case .streamFailed(let tag, _, _): self.ends[tag, default: 0] += 1
                case .goAwayReceived(_, _, let data), .goAwaySent(_, let data):
                    if data.upperBound > self.batch.bytes.count { self.outOfRange = true }
                case .settingsChanged, .pingAcknowledged: break
                }
            }
        }

        /// Checks that every request ended exactly once, and that events name only bytes that exist.
        func complaint() -> String? {
            if self.outOfRange { return "a range ends behind the bytes" }
            for (tag, count) in self.ends where !self.submitted.contains(tag) || count > 1 {
                return "request \(tag) came to \(count) ends"
            }
            return self.ends.count == self.submitted.count
                ? nil : "\(self.submitted.count - self.ends.count) requests came to no end"
        }
    }
}
