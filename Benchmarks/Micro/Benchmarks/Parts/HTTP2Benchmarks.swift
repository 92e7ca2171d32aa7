import Benchmark
import HTTP2Session

/// A request through the HTTP/2 session: header fields, body, answer. No socket and no TLS.
enum HTTP2Benchmarks {
    static let streamsMax = 1_000

    static func define() {
        Benchmark("header submit: request out, answer in") { benchmark in
            let session = HTTP2ClientSession()
            session.receive(self.opening.span.bytes)
            let template = self.template
            let body = [UInt8](repeating: 0x61, count: 266)
            let path = Array("/3/device/00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff".utf8)
            var values = HTTP2HeaderValues()
            var events = HTTP2ClientEvents()
            var answers: [UInt8] = []
            var nextStreamID: UInt32 = 1
            benchmark.startMeasurement()
            var left = benchmark.scaledIterations.count
            while left > 0 {
                let count = min(left, self.streamsMax)
                answers.removeAll(keepingCapacity: true)
                for number in 0..<count {
                    values.removeAll()
                    values.append(path)
                    values.append(decimal: 1_760_000_000)
                    values.append(uuid: (UInt64(number), UInt64(nextStreamID)))
                    blackHole(session.submit(template, values: values, body: body, tag: UInt32(number)))
                    self.appendAnswer(nextStreamID, to: &answers)
                    nextStreamID += 2
                }
                while session.takeOutput({ blackHole($0.byteCount) }) != nil {}
                session.receive(answers.span.bytes)
                events.removeAll()
                session.takeEvents(into: &events)
                left -= count
            }
            benchmark.stopMeasurement()
            precondition(session.openStreamCount == 0, "\(session.openStreamCount) requests without an answer")
        }
    }

    private static var template: HTTP2HeaderTemplate {
        HTTP2HeaderTemplate([
            .fixed(":method", "POST"), .fixed(":scheme", "https"), .fixed(":authority", "api.push.apple.com"),
            .variable(":path"),
            .fixed("authorization", "bearer " + String(repeating: "a", count: 192), indexing: .never),
            .fixed("apns-topic", "com.example.pizza.push-type.liveactivity"),
            .fixed("apns-push-type", "liveactivity"), .fixed("apns-priority", "10"), .variable("apns-expiration"),
            .variable("apns-id"),
        ])
    }

    /// What the peer says first: SETTINGS with its stream limit, an acknowledgement of ours, and a connection window
    /// that never runs dry (RFC 9113 §6.5, §6.9).
    private static let opening: [UInt8] =
        [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 3, 232] + [0, 0, 0, 4, 1, 0, 0, 0, 0]
        + [0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0, 0]

    /// HEADERS with `:status: 200` alone, which also ends the stream (RFC 9113 §6.2, RFC 7541 appendix A).
    private static func appendAnswer(_ streamID: UInt32, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: [0, 0, 1, 1, 5])
        for shift in [24, 16, 8, 0] as [UInt32] { bytes.append(UInt8(truncatingIfNeeded: streamID >> shift)) }
        bytes.append(0x88)
    }
}
