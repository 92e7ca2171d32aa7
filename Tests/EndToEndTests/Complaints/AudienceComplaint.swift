import APNSSimulator
import PushModel
import Testing

extension Complaints {
    /// Complaint 9: broadcasts, channels and audiences are missing. Reported as jchambers/pushy#1081 and #1104,
    /// sideshow/apns2#242, kylebrowning/APNSwift#205 and parse-community/node-apn#162.
    ///
    /// Mailboat has them: see `BroadcastDeliveryTests` and `AudienceDeliveryTests`. Promised here: an event that names
    /// an audience wrongly becomes a dead letter whose reason says so. It is never lost in silence, and causes no push.
    @Test func whatNamesAnAudienceWronglyIsADeadLetterThatSaysWhy() async throws {
        let records: [(key: String, value: String, field: String)] = [
            (
                "team-red",
                #"{"event":"start","to":{"audience":"team-red"},"attributes-type":"Match","attributes":{},"content-state":{"goals":0}}"#,
                "alert"
            ),
            (
                Tokens.make(7), #"{"event":"register","audience":"team-red","channel-capable":true}"#,
                "channel-capable"
            ),
            (Tokens.make(7).uppercased(), #"{"event":"register","audience":"team-red"}"#, "key"),
            ("team-red", #"{"event":"update","to":{"audience":"team-blue"},"content-state":{}}"#, "to.audience"),
        ]
        try await TestHouse.withOrders(1) { house, worker, publisher in
            let first = publisher.positions.count
            // All bad records are in the partition of an ordinary order, whose next update comes after them.
            publisher.partitioner = .fixed(
                TestPublisher.Partitioner.murmur2.partition(for: Array(Orders.name(0).utf8)))
            for record in records { try publisher.send(key: Array(record.key.utf8), value: Array(record.value.utf8)) }
            publisher.partitioner = .murmur2
            try await publisher.update(0..<1, "at the door")
            try await house.phonesAgree(with: publisher.phones)

            let letters = try TopicTail(house.kafka.deadLetters, of: house.kafka)
            try await until("each is a dead letter") { letters.poll().count >= records.count }
            #expect(letters.records.count == records.count)
            for (record, position) in zip(records, publisher.positions[first...]) {
                let offset = "\(try #require(position).offset)"
                let letter = try #require(letters.records.first { $0.headers[RecordHeader.offset.text] == offset })
                #expect(letter.value == Array(record.value.utf8), "it comes as it was")
                #expect(letter.headers[RecordHeader.field.text] == record.field)
                #expect(letter.headers[RecordHeader.reason.text]?.isEmpty == false)
            }
            let outcomes = try await house.everythingIsAccountedFor(publisher, worker)
            #expect(outcomes.count { $0.outcome == "dead-lettered" } == records.count)
            #expect(house.simulator.statistics().requests == 1, "nothing but the order's update was pushed")
        }
    }
}
