import KafkaForwarding
import NIOCore
public import PushModel

/// Fuzzes the bytes that a Kafka client and an embedded broker send on one forwarded connection.
///
/// An input is a sequence of messages. A message begins with a byte that says who sends it, and whether a frame length
/// goes before its bytes. Two bytes with the number of bytes follow, and then the bytes.
public struct KafkaTarget: FuzzTarget {
    public static let name = "kafka"

    public static let pieces: [[UInt8]] =
        [
            // Beginnings of requests: API key, version, correlation id, client id.
            [0, 18, 0, 4, 0, 0, 0, 7, 0xFF, 0xFF], [0, 18, 0, 2, 0, 0, 0, 8, 0, 0], [0, 3, 0, 1, 0, 0, 0, 9, 0, 0],
            [0, 3, 0, 0, 0, 0, 0, 9, 0, 0], [0, 10, 0, 2, 0, 0, 0, 9, 0, 0], [0, 10, 0, 0, 0, 0, 0, 9, 0, 0],
            // Lengths and counts.
            [0, 0], [0, 1], [0xFF, 0xFF], [0x7F, 0xFF], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 0, 4], [0, 0, 0, 9],
            [0x7F, 0xFF, 0xFF, 0xFF], [0xFF, 0xFF, 0xFF, 0xFF], [0x80, 0, 0, 0], [0x04, 0, 0, 0],
            // Heads of messages: who sends them, and the number of bytes.
            [0, 0, 20], [1, 0, 20], [2, 0, 4], [3, 0, 4],
        ] + ["apache-kafka-java", "127.0.0.1"].map { Array($0.utf8) }

    /// Forwarded ports by broker port. The first two brokers are those with which the corpus was recorded.
    private static let ports: [Int32: Int32] = [33_617: 19_092, 44_913: 19_093, 0: 1, 9: 19_094]
    /// Number of bytes in the only kind of answer that the forwarder itself gives.
    private static let answerByteCount = 20
    private static let turnsMax = 200

    /// One message: the sender and the bytes.
    private struct Turn {
        var isBroker: Bool
        var bytes: [UInt8]
    }

    /// Result of a conversation.
    private struct Course {
        var said: [UInt8] = []
        var passed: [UInt8] = []
        var answered: [UInt8] = []
        var brokerSaid: [UInt8] = []
        var told: [UInt8] = []
        /// Index of the message that ended the connection, or `nil` if none did.
        var failedTurn: Int?
        /// Whether the broker sent nothing before the client was known to be Java's.
        var isFramed = true
    }

    public init() {}

    public mutating func read(_ input: [UInt8], random: inout SplitMix64) -> String? {
        let turns = Self.turns(input)
        let course = Self.course(turns) { [$0] }
        let cut = Self.course(turns) { bytes in
            var pieces: [[UInt8]] = []
            var rest = bytes[...]
            while !rest.isEmpty {
                pieces.append(Array(rest.prefix(random.oneOf([1, 3, 4, 12, 100]))))
                rest = rest.dropFirst(pieces[pieces.count - 1].count)
            }
            return pieces
        }
        return Self.complaint(about: course) ?? Self.complaint(about: course, cut: cut)
    }

    private static func turns(_ input: [UInt8]) -> [Turn] {
        var turns: [Turn] = []
        var rest = input[...]
        while turns.count < Self.turnsMax, let head = rest.popFirst() {
            let count = Int(rest.popFirst() ?? 0) << 8 | Int(rest.popFirst() ?? 0)
            let bytes = Array(rest.prefix(count))
            rest = rest.dropFirst(count)
            let length = withUnsafeBytes(of: Int32(bytes.count).bigEndian) { Array($0) }
            turns.append(Turn(isBroker: head & 1 != 0, bytes: head & 2 == 0 ? length + bytes : bytes))
        }
        return turns
    }

    private static func course(_ turns: [Turn], cut: ([UInt8]) -> [[UInt8]]) -> Course {
        var conversation = JavaConversation(ports: Self.ports)
        var course = Course()
        for (number, turn) in turns.enumerated() {
            if turn.isBroker {
                course.brokerSaid += turn.bytes
                // The forwarder itself answers as soon as it knows that the client is Java's.
                if course.answered.isEmpty { course.isFramed = false }
            } else {
                course.said += turn.bytes
            }
            do throws(JavaConversation.Failure) {
                for piece in cut(turn.bytes) {
                    if turn.isBroker {
                        course.told += try conversation.brokerSaid(ByteBuffer(bytes: piece)).readableBytesView
                    } else {
                        let passage = try conversation.clientSaid(ByteBuffer(bytes: piece))
                        course.passed += passage.toBroker.readableBytesView
                        course.answered += passage.toClient.readableBytesView
                    }
                }
            } catch {
                course.failedTurn = number
                return course
            }
        }
        return course
    }

    private static func complaint(about course: Course) -> String? {
        if course.answered.count % Self.answerByteCount != 0 {
            return "an answer has not \(Self.answerByteCount) bytes"
        }
        if course.told.count > course.brokerSaid.count { return "the client is told more than the broker said" }
        if course.answered.isEmpty {
            if !course.said.starts(with: course.passed) { return "what no Java client says is changed" }
            if !course.brokerSaid.starts(with: course.told) { return "what is said to no Java client is changed" }
            return nil
        }
        if course.passed.count > course.said.count { return "the broker is told more than the client said" }
        return course.isFramed ? Self.complaintAboutFrames(course) : nil
    }

    /// Checks that every frame to the client has its original length, even if its content was replaced.
    private static func complaintAboutFrames(_ course: Course) -> String? {
        var start = 0
        while start + 4 <= course.told.count {
            let length = course.told[start..<start + 4]
            guard length.elementsEqual(course.brokerSaid[start..<start + 4]) else { return "a frame's length changed" }
            start += 4 + length.reduce(0) { $0 << 8 | Int($1) }
        }
        return start == course.told.count ? nil : "the client is told a part of a frame"
    }

    /// Checks that the result does not depend on where the bytes are cut. There is one exception: a message with a
    /// fault. If that message is cut, its bytes before the fault may be passed on. If it is whole, none of them are.
    private static func complaint(about course: Course, cut: Course) -> String? {
        if course.failedTurn != cut.failedTurn { return "cut otherwise, the connection ends elsewhere" }
        let pairs = [(cut.passed, course.passed), (cut.answered, course.answered), (cut.told, course.told)]
        for (one, other) in pairs {
            guard course.failedTurn == nil ? one == other : one.starts(with: other) else {
                return "cut otherwise, something else passes"
            }
        }
        return nil
    }
}
