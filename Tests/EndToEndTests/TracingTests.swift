import ChildProcesses
import Foundation
import Testing
import TraceCollecting

/// Tests of one event's trace, from its publisher through `mailboat run` to the reader of its outcome.
@Suite(.timeLimit(.minutes(5)))
struct TracingTests {
    private static let trace = "0af7651916cd43dd8448eb211c80319c"
    private static let publisherSpan = "b7ad6b7169203331"
    private static let update = #"{"event":"update","priority":10,"content-state":{"step":"at the door"}}"#

    /// The event is in the wrong partition, so it is forwarded. Its trace has spans of both partitions.
    @Test func anEventIsTracedAcrossPartitions() async throws {
        let collector = try await TraceCollector.start()
        try await TestHouse.with { house in
            let worker = try await house.startWorker(settings: "tracing.otlp-endpoint: \(collector.endpoint)")
            let publisher = try TestPublisher(house.kafka)
            try publisher.register("order-7", token: Tokens.make(7))
            try await publisher.flush()
            try await worker.ready()
            try await until("the registration is applied") {
                try await worker.metric("mailboat_events_outcomes_total", label: "applied") == 1
            }
            let home = try #require(publisher.positions.first ?? nil)
            publisher.partitioner = .fixed((home.partition + 1) % Int32(TestKafka.partitionCount))
            try Self.publish("00-\(Self.trace)-\(Self.publisherSpan)-01", by: publisher)
            try await publisher.flush()
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await until("the update has its outcome") { outcomes.poll().count == 2 }
            try await until("its trace stands behind the histogram") {
                let page = try await LocalHTTP.get(
                    "/metrics", port: worker.adminPort, accept: "application/openmetrics-text; version=1.0.0")
                return page?.body.contains("{trace_id=\"\(Self.trace)\",span_id=\"") == true
            }
            // The first trace context is not sampled, and the second is invalid. Neither event is traced, and both are
            // pushed.
            try Self.publish("00-1af7651916cd43dd8448eb211c80319c-\(Self.publisherSpan)-00", by: publisher)
            try Self.publish("00-nonsense", by: publisher)
            try await publisher.flush()
            try await until("every event has its outcome") { outcomes.poll().count == 4 }
            // The event with the invalid header is read in two partitions, because it is forwarded.
            try await until("the header that is none is counted") {
                try await worker.metric("mailboat_tracing_traceparents_invalid_total") == 2
            }
            // Stops the worker like an operator does. The worker then exports its remaining spans.
            worker.terminate()
            #expect(try await worker.exited() == 0)

            let spans = try collector.spans()
            try Self.check(spans, publisher, home: home.partition, house)
            let whole = try #require(spans.first { $0.name == "process \(house.kafka.routed)" })
            let carried = "00-\(Self.trace)-\(whole.spanID)-01"
            let traced = outcomes.records.filter { $0.headers["traceparent"] != nil }
            #expect(traced.map { $0.headers["traceparent"] } == [carried])
            #expect(traced.map { $0.headers["tracestate"] } == ["vendor=1,other=2"])
            let text = try #require(traced.first.map { String(decoding: $0.value ?? [], as: UTF8.self) })
            #expect(text.contains("\"traceparent\":\"\(carried)\""))
        }
        await collector.stop()
    }

    /// The trace goes from the publisher to the audience's owner, and on to the partitions with members. Each
    /// partition's pass has a span. At most eight pushes of a pass have spans, as examples.
    @Test func anEventForManyIsTracedToItsMembers() async throws {
        let count = 200
        let collector = try await TraceCollector.start()
        try await TestHouse.with { house in
            let publisher = try TestPublisher(house.kafka)
            let match = TestAudience(id: "match-7", publisher: publisher, house: house)
            let worker = try await house.startWorker(settings: "tracing.otlp-endpoint: \(collector.endpoint)")
            try match.join(0..<count)
            try await publisher.flush()
            try await match.has(count, at: worker)
            let goal =
                #"{"event":"update","app":"\#(TestPublisher.app)","to":{"audience":"match-7"},"content-state":{"step":1}}"#
            try publisher.send(
                key: Array("match-7".utf8), value: Array(goal.utf8),
                traceparent: "00-\(Self.trace)-\(Self.publisherSpan)-01")
            try await publisher.flush()
            _ = try await match.shows(1, 0..<count)
            try await until("every pass has ended") {
                let begun = try await worker.metric("mailboat_tracing_passes_total")
                let live = try await worker.metric("mailboat_tracing_passes_live")
                return begun > 1 && live == 0
            }
            worker.terminate()
            #expect(try await worker.exited() == 0)

            let spans = try collector.spans()
            #expect(spans.allSatisfy { $0.traceID == Self.trace })
            let whole = try #require(spans.first { $0.name == "process \(house.kafka.events)" })
            #expect(whole.parentSpanID == Self.publisherSpan && whole.attributes["mailboat.outcome"] == "fanned-out")
            let passes = spans.filter { $0.name == "fan out" }
            #expect(passes.allSatisfy { $0.parentSpanID == whole.spanID && $0.startNanos >= whole.startNanos })
            #expect(passes.allSatisfy { $0.attributes["mailboat.outcome"] == "finished" })
            #expect(passes.allSatisfy { $0.attributes["mailboat.audience"] == "match-7" })
            #expect(Set(passes.map { $0.attributes["mailboat.partition"] }).count == passes.count && passes.count > 1)
            let accepted = passes.compactMap { $0.attributes["mailboat.members.accepted"].flatMap { Int($0) } }
            #expect(accepted.reduce(0, +) == count)
            for (pass, members) in zip(passes, accepted) {
                let pushes = spans.filter { $0.parentSpanID == pass.spanID }
                #expect(pushes.count == min(members, 8))
                #expect(pushes.allSatisfy { $0.name == "push" && $0.kind == .client })
                #expect(pushes.allSatisfy { $0.startNanos >= pass.startNanos && $0.endNanos <= pass.endNanos })
            }
            let tokens = (0..<count).map { Tokens.make($0) }
            #expect(!spans.contains { span in span.attributes.values.contains { tokens.contains($0) } })
        }
        await collector.stop()
    }

    private static func publish(_ traceparent: String, by publisher: TestPublisher) throws {
        try publisher.send(
            key: Array("order-7".utf8), value: Array(Self.update.utf8), traceparent: traceparent,
            tracestate: "vendor=1,other=2")
    }

    /// Checks that `spans` are exactly the expected spans of one event.
    private static func check(
        _ spans: [CollectedSpan], _ publisher: TestPublisher, home: Int32, _ house: TestHouse
    ) throws {
        #expect(spans.allSatisfy { $0.traceID == Self.trace && $0.resource["service.name"] == "mailboat" })
        let first = try #require(spans.first { $0.name == "process \(house.kafka.events)" })
        #expect(first.parentSpanID == Self.publisherSpan)
        #expect(first.kind == .consumer)
        #expect(
            first.attributes["messaging.destination.partition.id"] == publisher.positions[1].map { "\($0.partition)" })
        #expect(first.attributes["messaging.kafka.offset"] == publisher.positions[1].map { "\($0.offset)" })
        #expect(first.attributes["mailboat.outcome"] == "forwarded")
        #expect(first.attributes["mailboat.forwarded.partition"] == "\(home)")
        let second = try #require(spans.first { $0.name == "process \(house.kafka.routed)" })
        #expect(second.parentSpanID == first.spanID)
        #expect(second.startNanos >= first.startNanos)
        #expect(second.attributes["messaging.destination.partition.id"] == "\(home)")
        let below = spans.filter { $0.parentSpanID == second.spanID }
        #expect(spans.count == 2 + below.count)
        #expect(second.attributes["mailboat.outcome"] == "delivered")
        #expect(below.map(\.name) == ["queued", "push"])
        let push = try #require(below.last)
        #expect(push.kind == .client)
        #expect(push.attributes["http.response.status_code"] == "200")
        #expect(push.attributes["server.address"] == "127.0.0.1")
        #expect(push.startNanos >= second.startNanos && push.endNanos <= second.endNanos)
        // No span contains the phone's token.
        let token = Tokens.make(7)
        #expect(!spans.contains { $0.attributes.values.contains { $0.contains(token) } })
    }
}
