import HTTP2Session
import PushModel

/// Sends requests through the HTTP/2 session, each with its own path and id, and takes their answers. There is no
/// socket and no TLS.
struct CountedSession {
    private let session = HTTP2ClientSession()
    private let template: HTTP2HeaderTemplate
    private let body = [UInt8](repeating: 0x61, count: SampleRequest.body.utf8.count)
    private var values = HTTP2HeaderValues()
    private var events = HTTP2ClientEvents()
    private var answers: [UInt8] = []
    private var path = Array("/3/device/".utf8)
    private var nextStreamID: UInt32 = 1

    init() {
        self.template = HTTP2HeaderTemplate([
            .fixed(":method", "POST"), .fixed(":scheme", "https"), .fixed(":authority", "api.push.apple.com"),
            .variable(":path"),
            .fixed("authorization", "bearer " + String(repeating: "a", count: 192), indexing: .never),
            .fixed("apns-topic", SampleRequest.topic), .fixed("apns-push-type", "liveactivity"),
            .fixed("apns-priority", "10"), .variable("apns-expiration"), .variable("apns-id"),
        ])
        SampleRequest.appendToken(1, to: &self.path)
        self.session.receive(Self.opening.span.bytes)
    }

    mutating func turn(_ count: Int, meter: inout AllocationMeter) throws {
        meter.count(count) { self.countedExchange(count) }
        guard self.session.openStreamCount == 0 else {
            throw BenchmarkFailure("\(self.session.openStreamCount) requests without an answer")
        }
    }

    @inline(never) private mutating func countedExchange(_ count: Int) -> CountedOperation {
        self.answers.removeAll(keepingCapacity: true)
        for number in 0..<count {
            self.values.removeAll()
            self.values.append(self.path)
            self.values.append(decimal: 1_760_000_000)
            self.values.append(uuid: (UInt64(number), UInt64(self.nextStreamID)))
            _ = self.session.submit(self.template, values: self.values, body: self.body, tag: UInt32(number))
            self.appendAnswer()
            self.nextStreamID += 2
        }
        while self.session.takeOutput({ _ in }) != nil {}
        self.session.receive(self.answers.span.bytes)
        self.events.removeAll()
        self.session.takeEvents(into: &self.events)
        return .exchange
    }

    /// Appends HEADERS with only `:status: 200`. They also end the stream (RFC 9113 §6.2, RFC 7541 appendix A).
    private mutating func appendAnswer() {
        self.answers.append(contentsOf: [0, 0, 1, 1, 5])
        for shift in [24, 16, 8, 0] as [UInt32] {
            self.answers.append(UInt8(truncatingIfNeeded: self.nextStreamID >> shift))
        }
        self.answers.append(0x88)
    }

    /// The peer's first frames: SETTINGS with its stream limit, an acknowledgement of our SETTINGS, and a connection
    /// window that never runs out (RFC 9113 §6.5, §6.9).
    private static let opening: [UInt8] =
        [0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 3, 0, 0, 3, 232] + [0, 0, 0, 4, 1, 0, 0, 0, 0]
        + [0, 0, 4, 8, 0, 0, 0, 0, 0, 0x7f, 0xff, 0, 0]
}
