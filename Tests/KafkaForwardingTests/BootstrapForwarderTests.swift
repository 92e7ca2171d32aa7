import KafkaForwarding
import KafkaLog
import NIOCore
import Testing

/// Tests of clients that reach embedded brokers through a forwarder, over sockets.
@Suite(.timeLimit(.minutes(5)))
struct BootstrapForwarderTests {
    @Test func clientsFindTheBrokersThroughTheForwarder() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("events", partitionCount: 3)])
        let forwarder = try await BootstrapForwarder.start(host: "127.0.0.1", port: 0, brokers: kafka.bootstrap)
        let settings = KafkaSettings(bootstrap: "127.0.0.1:\(forwarder.port)")
        let topics = try await NamedThread.run("test") {
            Result { try KafkaAdmin(settings).describeTopics(within: .seconds(10)) }
        }.get()
        #expect(topics.map(\.name) == ["events"])
        #expect(topics.first?.partitionCount == 3)
        let failure = await #expect(throws: ForwardingFailure.self) {
            try await BootstrapForwarder.start(
                host: "127.0.0.1", port: forwarder.port, setting: "--port", brokers: kafka.bootstrap)
        }
        #expect(
            failure?.description.hasPrefix(
                "--port: 127.0.0.1:\(forwarder.port) cannot be listened on: another process has it") == true,
            "\(String(describing: failure))")
        await #expect(throws: ForwardingFailure.self) {
            try await BootstrapForwarder.start(host: "127.0.0.1", port: 0, brokers: "nowhere")
        }
        await forwarder.stop()
        kafka.stop()
    }

    /// Java's client first asks which versions there are, where the brokers are, and where a partition ends. It must
    /// get correct answers, and no wait for throttling.
    @Test func javasClientIsNotTakenForThrottledAndReadsWhereAPartitionEnds() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("events", partitionCount: 2)], brokerCount: 2)
        let forwarder = try await BootstrapForwarder.start(host: "127.0.0.1", port: 0, brokers: kafka.bootstrap)
        let ownPorts = kafka.bootstrap.split(separator: ",").compactMap {
            $0.split(separator: ":").last.map(String.init)
        }
        let metadata = try await JavaClient.talk(to: forwarder.port) { client in
            var versions = try await client.begin()
            #expect(versions.int16() == 0, "an error")
            let newest = versions.array { ($0.int16(), ($0.int16(), $0.int16()).1) }
            #expect(newest.first { $0.0 == 2 }?.1 == 3, "ListOffsets, newest version")
            #expect(versions.int32() == 0, "the throttle, milliseconds")
            #expect(versions.isAtEnd)
            return try await client.metadata(of: "events")
        }
        #expect(metadata.brokers.count == 2 && metadata.leaders.count == 2)
        #expect(
            metadata.brokers.allSatisfy { !ownPorts.contains("\($0.value)") }, "all brokers are behind the forwarder")
        for (partition, leader) in metadata.leaders {
            let port = try #require(metadata.brokers[leader])
            try await JavaClient.talk(to: Int(port)) { client in
                _ = try await client.begin()
                var offsets = try await client.endOffset(of: "events", partition: partition)
                #expect(offsets.int32() == 0, "the throttle, milliseconds")
                let topics = offsets.array { topic in
                    (
                        topic.string(),
                        topic.array { [Int64($0.int32()), Int64($0.int16()), $0.int64(), $0.int64()] }
                    )
                }
                #expect(topics.count == 1 && topics.first?.0 == "events")
                // The answer for an empty partition has no error, no timestamp, and offset 0.
                #expect(topics.first?.1 == [[Int64(partition), 0, -1, 0]])
                #expect(offsets.isAtEnd, "no byte too many")
            }
        }
        await forwarder.stop()
        kafka.stop()
    }
}
