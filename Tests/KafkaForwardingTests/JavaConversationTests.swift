import KafkaForwarding
import NIOCore
import Testing

/// Tests of the bytes that Java's client gets from the embedded Kafka.
@Suite struct JavaConversationTests {
    private static let ports: [Int32: Int32] = [45_849: 19_092]

    private static func frame(_ body: (inout ByteBuffer) -> Void) -> ByteBuffer {
        var inner = ByteBuffer()
        body(&inner)
        var frame = ByteBuffer()
        frame.writeInteger(Int32(inner.readableBytes))
        frame.writeBuffer(&inner)
        return frame
    }
    private static func write(_ text: String, to buffer: inout ByteBuffer) {
        buffer.writeInteger(Int16(text.utf8.count))
        buffer.writeString(text)
    }
    /// A request with a client id and any further bytes.
    private static func request(
        _ apiKey: Int16, version: Int16, correlation: Int32, rest: String = ""
    ) -> ByteBuffer {
        Self.frame { buffer in
            buffer.writeMultipleIntegers(apiKey, version, correlation)
            Self.write("producer-1", to: &buffer)
            buffer.writeString(rest)
        }
    }
    private static let hello = Self.request(
        18, version: 4, correlation: 7, rest: "\0\u{12}apache-kafka-java\u{6}3.9.0\0")

    /// A conversation in which Java's client has asked for versions.
    private static func begun() throws -> JavaConversation {
        var conversation = JavaConversation(ports: Self.ports)
        _ = try conversation.clientSaid(Self.hello)
        return conversation
    }

    // MARK: Versions

    /// Java's first question is answered at once with version 0, error 35 and one entry (KIP-511). No byte of it
    /// reaches the broker.
    @Test func javaHearsWhichVersionsThereAre() throws {
        var conversation = JavaConversation(ports: Self.ports)
        let passage = try conversation.clientSaid(Self.hello)
        #expect(passage.toBroker.readableBytes == 0)
        #expect(
            Array(passage.toClient.readableBytesView)
                == [0, 0, 0, 16, 0, 0, 0, 7, 0, 35, 0, 0, 0, 1, 0, 18, 0, 0, 0, 2])
        // Java's client asks again, in a version that the embedded broker knows.
        let again = Self.request(18, version: 0, correlation: 8)
        let second = try conversation.clientSaid(again)
        #expect(second.toBroker == again && second.toClient.readableBytes == 0)
    }

    /// The first question is understood even if it arrives in pieces.
    @Test func theQuestionMayComeInPieces() throws {
        var conversation = JavaConversation(ports: Self.ports)
        let next = Self.request(3, version: 2, correlation: 9)
        var (toBroker, toClient) = (ByteBuffer(), ByteBuffer())
        for byte in Array(Self.hello.readableBytesView) + Array(next.readableBytesView) {
            var passage = try conversation.clientSaid(ByteBuffer(bytes: [byte]))
            toBroker.writeBuffer(&passage.toBroker)
            toClient.writeBuffer(&passage.toClient)
        }
        #expect(toBroker == next && toClient.readableBytes == 20)
    }

    @Test(arguments: [
        Self.request(18, version: 3, correlation: 1, rest: "\0\u{b}librdkafka\u{6}2.0.2\0"),
        Self.request(18, version: 0, correlation: 1, rest: "apache-kafka-java"),
        Self.request(3, version: 1, correlation: 1),
    ])
    func whatOthersSayPassesAsItIs(first: ByteBuffer) throws {
        var conversation = JavaConversation(ports: Self.ports)
        #expect(try conversation.clientSaid(first).toBroker == first)
        // These bytes are not a frame. They are passed on unread, because the client is not Java's.
        let rest = ByteBuffer(bytes: [255, 255, 255, 255, 1])
        #expect(try conversation.clientSaid(rest).toBroker == rest)
        #expect(try conversation.brokerSaid(rest) == rest)
    }

    @Test func listOffsetsHasNoVersionPast3() throws {
        var conversation = try Self.begun()
        _ = try conversation.clientSaid(Self.request(18, version: 0, correlation: 8))
        func answer(_ newest: Int16) -> ByteBuffer {
            Self.frame { buffer in
                buffer.writeMultipleIntegers(Int32(8), Int16(0), Int32(3))
                buffer.writeMultipleIntegers(Int16(1), Int16(0), Int16(11))
                buffer.writeMultipleIntegers(Int16(2), Int16(0), newest)
                buffer.writeMultipleIntegers(Int16(3), Int16(0), Int16(2))
            }
        }
        #expect(try conversation.brokerSaid(answer(5)) == answer(3))
        _ = try conversation.clientSaid(Self.request(18, version: 0, correlation: 8))
        #expect(try conversation.brokerSaid(answer(2)) == answer(2))
    }

    // MARK: Addresses

    @Test(arguments: [0, 1, 2] as [Int16])
    func metadataNamesOurPorts(version: Int16) throws {
        var conversation = try Self.begun()
        _ = try conversation.clientSaid(Self.request(3, version: version, correlation: 9))
        func answer(_ port: Int32) -> ByteBuffer {
            Self.frame { buffer in
                buffer.writeMultipleIntegers(Int32(9), Int32(2), Int32(1))
                Self.write("127.0.0.1", to: &buffer)
                buffer.writeInteger(port)
                if version >= 1 { buffer.writeInteger(Int16(-1)) }
                buffer.writeInteger(Int32(2))
                Self.write("127.0.0.1", to: &buffer)
                buffer.writeInteger(Int32(1_234))
                if version >= 1 { Self.write("rack", to: &buffer) }
                buffer.writeInteger(Int32(0))
            }
        }
        #expect(try conversation.brokerSaid(answer(45_849)) == answer(19_092))
        // The question was already answered, so this answer belongs to no question and is passed on unchanged.
        #expect(try conversation.brokerSaid(answer(45_849)) == answer(45_849))
    }

    @Test(arguments: [0, 1, 2] as [Int16])
    func theCoordinatorHasOurPort(version: Int16) throws {
        var conversation = try Self.begun()
        _ = try conversation.clientSaid(Self.request(10, version: version, correlation: 9))
        func answer(_ port: Int32) -> ByteBuffer {
            Self.frame { buffer in
                buffer.writeInteger(Int32(9))
                if version >= 1 { buffer.writeInteger(Int32(0)) }
                buffer.writeInteger(Int16(0))
                if version >= 1 { buffer.writeInteger(Int16(-1)) }
                buffer.writeInteger(Int32(1))
                Self.write("127.0.0.1", to: &buffer)
                buffer.writeInteger(port)
            }
        }
        let bytes = Array(answer(45_849).readableBytesView)
        #expect(try conversation.brokerSaid(ByteBuffer(bytes: bytes[..<11])).readableBytes == 0)
        #expect(try conversation.brokerSaid(ByteBuffer(bytes: bytes[11...])) == answer(19_092))
    }

    /// An answer that ends too early, or whose version has an unknown format, is passed on unchanged.
    @Test(arguments: [(3, 1), (3, 12), (10, 0), (10, 4)] as [(Int16, Int16)])
    func whatCannotBeReadPassesAsItIs(apiKey: Int16, version: Int16) throws {
        var conversation = try Self.begun()
        _ = try conversation.clientSaid(Self.request(apiKey, version: version, correlation: 9))
        let answer = Self.frame { $0.writeMultipleIntegers(Int32(9), Int32(1_000), Int16(32_000)) }
        #expect(try conversation.brokerSaid(answer) == answer)
    }

    // MARK: What is not a conversation

    @Test(
        arguments: [[0, 0, 0, 3], [127, 255, 255, 255], [255, 255, 255, 255], [0, 0, 0, 4, 0, 0, 0, 0]] as [[UInt8]])
    func noRequestEndsIt(bytes: [UInt8]) throws {
        var conversation = try Self.begun()
        #expect(throws: JavaConversation.Failure.self) { try conversation.clientSaid(ByteBuffer(bytes: bytes)) }
    }

    @Test func questionsWithoutEndEndIt() throws {
        var conversation = try Self.begun()
        for correlation in 0..<Int32(JavaConversation.awaitedMax) {
            _ = try conversation.clientSaid(Self.request(3, version: 1, correlation: correlation))
        }
        #expect(throws: JavaConversation.Failure.self) {
            try conversation.clientSaid(Self.request(3, version: 1, correlation: 9_999))
        }
    }
}
