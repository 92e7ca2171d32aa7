import APNSSimulator
import DeviceModel
import Foundation
import PushModel
import Testing
import Upstream

/// Tests of what a publisher and a phone see of one worker, over real Kafka, TLS and HTTP/2.
@Suite(.timeLimit(.minutes(10)))
struct DeliveryTests {
    @Test func updatesReachThePhone() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker()
            let publisher = try TestPublisher(house.kafka)
            for order in 0..<20 {
                try publisher.register("order-\(order)", token: Tokens.make(order))
                try publisher.update("order-\(order)", "preparing", priority: 10)
            }
            try await publisher.flush()
            try await worker.ready()
            try await house.phonesAgree(with: publisher.phones)

            for order in 0..<20 { try publisher.update("order-\(order)", "at the door", alert: "Ding dong") }
            for order in 0..<10 { try publisher.end("order-\(order)", "delivered") }
            try await publisher.flush()
            try await house.phonesAgree(with: publisher.phones)
            #expect(house.violations().isEmpty)

            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await Self.everyEventHasAnOutcome(publisher, outcomes, in: house)
            #expect(try OutcomeRecord.all(in: outcomes).allSatisfy { $0.activity?.hasPrefix("order-") == true })
        }
    }

    @Test func aBurstBecomesFewPushes() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker()
            try await worker.ready()
            let publisher = try TestPublisher(house.kafka)
            try publisher.register("hero", token: Tokens.make(1))
            for round in 0..<40 {
                try publisher.update("hero", "round \(round)", alert: round == 13 ? "Knocked down" : nil)
            }
            try await publisher.flush()
            try await house.phonesAgree(with: publisher.phones)

            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await Self.everyEventHasAnOutcome(publisher, outcomes, in: house)
            let device = try #require(house.simulator.device(token: Tokens.make(1)))
            #expect(device.accepted < 10, "\(device.accepted) pushes for 40 updates at once")
            #expect(device.device.alertCount == 1)
            let records = try OutcomeRecord.all(in: outcomes)
            #expect(records.count { $0.outcome == "superseded" } == 40 - device.accepted)
            #expect(records.filter { $0.outcome == "delivered" }.reduce(0) { $0 + ($1.merged ?? 0) } == 40)
        }
    }

    /// The app gets a new token. The backend reports that token before or after APNs has refused the old one.
    @Test(arguments: [true, false])
    func anUpdateAroundARotatedTokenArrives(registersFirst: Bool) async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker()
            let publisher = try TestPublisher(house.kafka)
            let (old, new) = (Tokens.make(1), Tokens.make(2))
            try publisher.register("order", token: old)
            try publisher.update("order", "preparing")
            try await publisher.flush()
            try await worker.ready()
            try await house.phonesAgree(with: publisher.phones)

            house.simulator.rotateToken(from: old, to: new)
            // In one case the backend reports the new token first: APNs answers the push for the old token late. In the
            // other case APNs answers at once.
            if registersFirst { house.simulator.setLatency(Latency(fixedMillis: 1_500)) }
            let requests = house.simulator.statistics().requests
            try publisher.update("order", "in the oven", priority: 10)
            try await publisher.flush()
            if registersFirst {
                try await until("the push to the old token is under way") {
                    house.simulator.statistics().requests > requests
                }
            } else {
                try await until("the old token is refused") {
                    house.simulator.statistics().refused["Unregistered"] ?? 0 > 0
                }
            }
            try publisher.register("order", token: new)
            try await publisher.flush()
            try await house.phonesAgree(with: publisher.phones)
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await Self.everyEventHasAnOutcome(publisher, outcomes, in: house)
            #expect(try OutcomeRecord.all(in: outcomes).allSatisfy { ["applied", "delivered"].contains($0.outcome) })
        }
    }

    @Test func aRecordPlacedByAnotherPartitionerArrives() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker()
            let publisher = try TestPublisher(house.kafka)
            publisher.partitioner = .crc32
            for order in 0..<40 {
                try publisher.register("order-\(order)", token: Tokens.make(order))
                try publisher.update("order-\(order)", "preparing")
            }
            try await publisher.flush()
            try await worker.ready()
            try await house.phonesAgree(with: publisher.phones)
            for order in 0..<40 { try publisher.end("order-\(order)", "delivered") }
            try await publisher.flush()
            try await house.phonesAgree(with: publisher.phones)

            let routed = try TopicTail(house.kafka.routed, of: house.kafka)
            try await until("the second hop is seen") { !routed.poll().isEmpty }
            for record in routed.records {
                #expect(record.headers[RecordHeader.topic.text] == house.kafka.events)
                #expect(Int32(record.headers[RecordHeader.partition.text] ?? "") != record.partition)
                #expect(Int64(record.headers[RecordHeader.offset.text] ?? "") != nil)
            }
            // A forwarded event's outcome names the position where the producer put the event.
            let outcomes = try TopicTail(house.kafka.outcomes, of: house.kafka)
            try await Self.everyEventHasAnOutcome(publisher, outcomes, in: house)
        }
    }

    @Test func aGoAwayInTheMiddleLosesNothing() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker()
            let publisher = try TestPublisher(house.kafka)
            for fan in 0..<300 { try publisher.register("fan-\(fan)", token: Tokens.make(fan)) }
            try await publisher.flush()
            try await worker.ready()
            // GOAWAY comes twice during the burst. APNs does not process the requests above the stream that it names.
            house.simulator.setLatency(Latency(fixedMillis: 20, jitterMillis: 30))
            for skip in [40, 150] {
                house.simulator.add(
                    Fault(.goAway(GoAway(reason: "Shutdown", lastStream: .current)), count: 1, skip: skip))
            }
            for fan in 0..<300 { try publisher.update("fan-\(fan)", "1:0", priority: 10, alert: "Goal") }
            try await publisher.flush()
            try await house.phonesAgree(with: publisher.phones)
            #expect(house.simulator.statistics().connectionsAccepted >= 2)
            #expect(house.violations().isEmpty)
            let alerts = (0..<300).map { house.simulator.device(token: Tokens.make($0))?.device.alertCount ?? 0 }
            #expect(alerts.allSatisfy { $0 == 1 }, "requests APNs did not process are sent once more, the others not")
        }
    }

    @Test func aStartByPushBecomesAnActivity() async throws {
        try await TestHouse.with { house in
            let worker = try await house.startWorker()
            let publisher = try TestPublisher(house.kafka)
            let (startToken, updateToken) = (Tokens.make(1), Tokens.make(2))
            var start = StoryEvent(
                .start, app: TestPublisher.app, contentState: "{\"health\":100}",
                alert: "{\"title\":\"Go\",\"body\":\"on an adventure\"}")
            start.startToken = startToken
            start.attributesType = "AdventureAttributes"
            start.attributes = "{\"hero\":\"Power Panda\"}"
            try publisher.publish(start, activity: "hero")
            try await publisher.flush()
            try await worker.ready()
            try await house.phonesAgree(with: publisher.phones)

            // The update waits until the phone's update token is registered.
            try publisher.update("hero", "first blood", priority: 10)
            house.simulator.rotateToken(from: startToken, to: updateToken, keepsOld: true)
            try publisher.register("hero", token: updateToken)
            try publisher.end("hero")
            try await publisher.flush()
            try await house.phonesAgree(with: publisher.phones)
            #expect(house.simulator.device(token: updateToken)?.device.cardCount == 1)
        }
    }

    /// Waits until every published event has an outcome.
    static func everyEventHasAnOutcome(_ publisher: TestPublisher, _ outcomes: TopicTail, in house: TestHouse)
        async throws
    {
        let positions = Set(publisher.positions.compactMap { $0 })
        try await until("every event has an outcome") {
            let found = try OutcomeRecord.all(in: outcomes).filter { $0.topic == house.kafka.events }
                .map { TestPublisher.Position(partition: $0.partition, offset: $0.offset) }
            return positions.isSubset(of: found)
        }
    }
}

/// Device tokens for tests.
enum Tokens {
    static func make(_ number: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "a", count: 40) + String(repeating: "0", count: 24 - digits.count) + digits
    }
}
