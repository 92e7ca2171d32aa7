import Benchmark
import PushModel

/// From a record's bytes to an event, and from an event to a payload.
enum EventBenchmarks {
    static let update = Array(
        (#"{"event":"update","priority":10,"content-state":{"driverName":"Anne","estimatedDeliveryTime":1659416400,"#
            + #""stage":"baking","progress":0.425,"stops":[1,2,3]},"alert":{"title":"Delivery Update","#
            + #""body":"Your pizza is in the oven."},"stale-date":1685959200,"relevance-score":100}"#).utf8)
    static let registration = Array(
        (#"{"event":"register","token":"00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff","#
            + #""environment":"production"}"#).utf8)

    static func define() {
        for (name, value) in [("update", self.update), ("registration", self.registration)] {
            Benchmark("decode: \(name)") { benchmark in
                var event = DecodedEvent()
                for _ in benchmark.scaledIterations {
                    try EventDecoder.decode(value.span, into: &event)
                    blackHole(event.kind)
                }
            }
        }
        Benchmark("payload: update with alert") { benchmark in
            var event = DecodedEvent()
            try EventDecoder.decode(Self.update.span, into: &event)
            let content = PayloadContent(of: event)
            let alert = Self.update.span.extracting(event.alertInValue.range)
            var body: [UInt8] = []
            for number in benchmark.scaledIterations {
                body.removeAll(keepingCapacity: true)
                PayloadWriter.append(
                    kind: .update, stampSeconds: 1_685_952_000 + Int64(number), content: content,
                    source: Self.update.span, alert: alert, to: &body)
                blackHole(body.count)
            }
        }
    }
}
