import ChildProcesses
import DevPage
import Foundation
import KafkaLog
import PushInspection
import PushModel
import PushWorker
import Testing

@testable import mailboat

/// Tests of the page of `mailboat dev` in a flood. The page reads a few partitions, and counts all records.
@Suite(.timeLimit(.minutes(5))) struct DevFloodTests {
    /// A client of Kafka that publishes to many tokens.
    private final class Flood: Sendable {
        private static let roundCount = 40
        private let producer: KafkaProducer
        private let topic: KafkaTopic

        init(_ house: DevPageTests.House) throws {
            self.producer = try KafkaProducer(
                ProducerConfiguration(settings: house.stage.kafka.settings), onDeliveries: {}, onError: { _ in })
            self.topic = try self.producer.topic(house.stage.configuration.topics.events[0])
        }

        /// Publishes until the task is cancelled, then waits until Kafka has all records.
        func run() async {
            while !Task.isCancelled {
                for number in 0..<Self.roundCount {
                    let token = "\(number + 1_000)"
                    let event =
                        #"{"event":"update","to":{"token":"\#(String(repeating: "0", count: 64 - token.count) + token)"},"content-state":{"n":1}}"#
                    _ = self.producer.produce(
                        self.topic, key: Array("flood-\(number)".utf8).span, value: Array(event.utf8).span, opaque: 0)
                    while self.producer.drainDeliveries({ _ in }) > 0 {}
                }
                // The pause sets the rate of the flood, which the page counts per second. Cancelling the task ends the
                // loop.
                try? await Task.sleep(for: .milliseconds(100))
            }
            _ = await NamedThread.run("flood") { self.producer.flush(within: .seconds(10)) { _ in } }
        }
    }

    private static func read(_ house: DevPageTests.House) -> ReadPartitions? {
        let nowMillis = Int64(Date().timeIntervalSince1970 * 1_000)
        return house.stage.store.read { $0.partitionsToRead(nowMillis: nowMillis) }
    }

    /// Waits until some partitions are no longer read, and returns those that are still read. A busy machine may count
    /// nothing in a second, which looks like the end of the flood. Then the page reads all partitions again for a
    /// second.
    private static func partitionsReadInFlood(_ house: DevPageTests.House) async throws -> ReadPartitions {
        var found: ReadPartitions?
        try await until("some partitions are not read") {
            found = Self.read(house)
            return found.map { $0.events.count < 4 } ?? false
        }
        return try #require(found)
    }

    /// The listed events of an activity whose content has this `n`.
    private static func listed(_ activity: String, n: Int, _ house: DevPageTests.House) -> [TimelineEntry] {
        house.stage.store.read { timeline in
            timeline.entries.filter {
                guard $0.activity == activity, case .event(let event) = $0.body else { return false }
                return event.reading.event?.contentState?["n"] == .integer(n)
            }
        }
    }

    @Test func aFewPartitionsAreReadAndAllIsCounted() async throws {
        var options = DevStage.Options(apps: ["com.example.app"], kafkaPort: 0)
        // The flood brings twenty times as many events as this limit. So even a busy machine has a flood, and its
        // worker keeps up.
        options.limits.entriesPerSecondMax = 20
        options.limits.entriesMax = 1_000_000
        try await DevPageTests.run(options) { house in
            // There are phones in each partition.
            let activities = (1...12).map { "order-\($0)" }
            for activity in activities {
                let made = try await LocalHTTP.post(
                    "/api/activities", body: #"{"activity":"\#(activity)"}"#, port: house.port)
                #expect(made?.status == 201)
            }
            try await until("their registrations are read") {
                house.stage.store.read { $0.entries.count { $0.activity.hasPrefix("order-") } } == activities.count
            }

            let flood = try Flood(house)
            let flooding = Task { await flood.run() }
            let alone = try await Self.partitionsReadInFlood(house)
            #expect(alone.events.count == 1, "that of the newest phone")
            let far = try #require(
                activities.first {
                    !alone.events.contains(Murmur2.partition(key: Array($0.utf8).span, count: 4))
                })

            // An event that the user of the page publishes is listed with its whole story, from the event to the push.
            for number in 1...5 {
                let event = #"{"event":"update","priority":10,"content-state":{"n":\#(number)}}"#
                #expect(try await house.publish(event, activity: far).status == 202)
                let shown = try await house.waitFor("activity=\(far)&key=n&value=\(number)")
                #expect(shown.status == 200, "\(shown)")
                try await until("event \(number) is listed with its push") {
                    guard let entry = Self.listed(far, n: number, house).first,
                        case .event(let event) = entry.body
                    else { return false }
                    return event.outcome?.name == "delivered" && !entry.related.isEmpty
                }
            }
            _ = try await Self.partitionsReadInFlood(house)
            try await until("the page says that it lists a sample") {
                try await house.get("/api/state").body.contains(#""isSample":true"#)
            }

            flooding.cancel()
            await flooding.value
            try await until("the flood is over") { Self.read(house) == nil }
            for activity in activities {
                let event = #"{"event":"update","priority":10,"content-state":{"n":99}}"#
                #expect(try await house.publish(event, activity: activity).status == 202)
            }
            for activity in activities {
                try await until("what came after it is listed") {
                    Self.listed(activity, n: 99, house).count == 1
                }
            }
            try await self.expectAllCounted(house)
        }
    }

    /// Expects that each published event is listed once, or is counted as not listed.
    private func expectAllCounted(_ house: DevPageTests.House) async throws {
        let topic = house.stage.configuration.topics.events[0]
        let reader = try KafkaLogReader(house.stage.kafka.settings)
        let partitions = (0..<4).map { TopicPartition(topic: topic, partition: Int32($0)) }
        let positions = await NamedThread.run("ends") {
            (try? reader.positions(of: partitions, within: .seconds(10))) ?? []
        }
        let published = positions.reduce(0) { $0 + Int($1.endOffset) }
        let (listed, unlisted) = house.stage.store.read { timeline in
            (
                timeline.entries.compactMap { entry -> EventPosition? in
                    if case .event(let event) = entry.body { event.position } else { nil }
                }, timeline.unlisted.events
            )
        }
        #expect(Set(listed).count == listed.count, "an event is listed twice")
        #expect(listed.count + unlisted == published)
    }
}
