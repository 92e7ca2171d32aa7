import NIOCore
import NIOPosix
import Testing

/// Speaks as Java's `kafka-clients` does, byte by byte, and reads the answers.
struct JavaClient {
    /// The part of an answer after its correlation id, read from the front. A missing number reads as a number that no
    /// test expects.
    struct Answer {
        private var bytes: ByteBuffer

        init(_ bytes: ByteBuffer) { self.bytes = bytes }

        var isAtEnd: Bool { self.bytes.readableBytes == 0 }

        mutating func int8() -> Int8 { self.bytes.readInteger() ?? .min }
        mutating func int16() -> Int16 { self.bytes.readInteger() ?? .min }
        mutating func int32() -> Int32 { self.bytes.readInteger() ?? .min }
        mutating func int64() -> Int64 { self.bytes.readInteger() ?? .min }
        mutating func string() -> String? {
            let count = self.int16()
            return count < 0 ? nil : self.bytes.readString(length: Int(count))
        }
        mutating func array<Element>(_ read: (inout Self) -> Element) -> [Element] {
            (0..<max(0, self.int32())).map { _ in read(&self) }
        }
    }

    /// The addresses of the brokers, and the leader of each partition.
    struct Metadata {
        /// Ports by broker number.
        var brokers: [Int32: Int32]
        /// Number of the leading broker, by partition.
        var leaders: [Int32: Int32]
    }

    private let answers: Answers
    private let out: NIOAsyncChannelOutboundWriter<ByteBuffer>
    private var correlation: Int32 = 0

    /// Runs `body` with a connection to a port of this machine.
    static func talk<Result: Sendable>(
        to port: Int, _ body: (inout JavaClient) async throws -> Result
    ) async throws -> Result {
        let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return try await channel.executeThenClose { inbound, outbound in
            var client = JavaClient(answers: Answers(inbound.makeAsyncIterator()), out: outbound)
            return try await body(&client)
        }
    }

    private init(answers: Answers, out: NIOAsyncChannelOutboundWriter<ByteBuffer>) {
        self.answers = answers
        self.out = out
    }

    /// Begins a conversation like every connection of Java's client (KIP-511). It asks for versions in a version that
    /// is refused, and then in the version that the refusal names.
    /// - Returns: the second answer.
    mutating func begin() async throws -> Answer {
        // This version has the flexible format: tagged fields follow the client id, and a short text follows a byte
        // with its length plus one.
        var refusal = try await self.ask(18, version: 4) { request in
            request.writeInteger(UInt8(0))
            for text in ["apache-kafka-java", "3.9.0"] {
                request.writeInteger(UInt8(text.utf8.count + 1))
                request.writeString(text)
            }
            request.writeInteger(UInt8(0))
        }
        #expect(refusal.int16() == 35, "UNSUPPORTED_VERSION")
        let versions = refusal.array { ($0.int16(), $0.int16(), $0.int16()) }
        #expect(versions.count == 1 && versions[0] == (18, 0, 2))
        #expect(refusal.isAtEnd)
        return try await self.ask(18, version: 2) { _ in }
    }

    mutating func metadata(of topic: String) async throws -> Metadata {
        var answer = try await self.ask(3, version: 1) { request in
            request.writeInteger(Int32(1))
            Self.write(topic, to: &request)
        }
        let brokers = answer.array { broker in
            let number = broker.int32()
            #expect(broker.string() == "127.0.0.1")
            defer { #expect(broker.string() == nil, "a rack") }
            return (number, broker.int32())
        }
        _ = answer.int32()
        let topics = answer.array { topic in
            #expect(topic.int16() == 0, "an error")
            #expect(topic.string() == "events")
            _ = topic.int8()
            return topic.array { partition in
                #expect(partition.int16() == 0, "an error")
                let place = (partition.int32(), partition.int32())
                // Two arrays follow: the replicas, and those replicas that are in sync.
                for _ in 0..<2 { _ = partition.array { $0.int32() } }
                return place
            }
        }
        #expect(answer.isAtEnd)
        return Metadata(
            brokers: Dictionary(brokers) { one, _ in one },
            leaders: Dictionary(topics.flatMap { $0 }) { one, _ in one })
    }

    /// Asks ListOffsets in the newest version that the client knows to be supported.
    mutating func endOffset(of topic: String, partition: Int32) async throws -> Answer {
        try await self.ask(2, version: 3) { request in
            // The fields mean: no replica, uncommitted records included, one topic.
            request.writeMultipleIntegers(Int32(-1), Int8(0), Int32(1))
            Self.write(topic, to: &request)
            // The fields mean: one partition, and its end.
            request.writeMultipleIntegers(Int32(1), partition, Int64(-1))
        }
    }

    private static func write(_ text: String, to buffer: inout ByteBuffer) {
        buffer.writeInteger(Int16(text.utf8.count))
        buffer.writeString(text)
    }

    private mutating func ask(
        _ apiKey: Int16, version: Int16, _ body: (inout ByteBuffer) -> Void
    ) async throws -> Answer {
        self.correlation += 1
        var request = ByteBuffer()
        request.writeMultipleIntegers(apiKey, version, self.correlation)
        Self.write("consumer-1", to: &request)
        body(&request)
        var frame = ByteBuffer(integer: Int32(request.readableBytes))
        frame.writeBuffer(&request)
        try await self.out.write(frame)
        var answer = try await self.answers.next()
        #expect(answer.readInteger(as: Int32.self) == self.correlation)
        return Answer(answer)
    }

    /// Reads the answers in the order of their arrival, each without its length.
    private final class Answers {
        private struct Ended: Error {}
        private var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
        private var bytes = ByteBuffer()

        init(_ inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator) { self.inbound = inbound }

        func next() async throws -> ByteBuffer {
            while true {
                if let length = self.bytes.getInteger(at: self.bytes.readerIndex, as: Int32.self),
                    self.bytes.readableBytes >= 4 + Int(length)
                {
                    self.bytes.moveReaderIndex(forwardBy: 4)
                    return self.bytes.readSlice(length: Int(length)) ?? ByteBuffer()
                }
                guard var more = try await self.inbound.next(isolation: #isolation) else { throw Ended() }
                self.bytes.writeBuffer(&more)
            }
        }
    }
}
