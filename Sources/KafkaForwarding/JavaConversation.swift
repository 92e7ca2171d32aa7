package import NIOCore

/// Adapts librdkafka's mock cluster (2.0) to Java's `kafka-clients`, on one connection. Messages of other clients pass
/// unchanged.
///
/// The mock does not know ApiVersions from version 3 on, and answers such a request with a count that is one too small.
/// Java's client then reads a throttle time of 20 minutes and waits. So such a request is answered here as Kafka does:
/// in the form of version 0, with UNSUPPORTED_VERSION and the versions that exist (KIP-511). Every connection of Java's
/// client begins with this request, so all its connections must pass through the forwarder. That is why answers to
/// Metadata and FindCoordinator get the forwarder's ports instead of the brokers' ports.
///
/// In ListOffsets from version 4 on, the mock writes four bytes too many after each partition. So Java's client is told
/// that version 3 is the newest.
package struct JavaConversation {
    /// Maximum size of a request or answer in bytes. A longer one ends the connection.
    package static let frameByteCountMax = 64 << 20
    /// Maximum number of open requests whose answers this type has to change; one more ends the connection. A client
    /// sends such a request only after the answer to its previous one.
    package static let awaitedMax = 64

    /// The bytes are not Kafka's protocol, or too many. The connection must be closed.
    package struct Failure: Error {}
    /// The bytes to send to the broker and to the client.
    package struct Passage {
        /// Bytes of the client's requests for the broker.
        package var toBroker = ByteBuffer()
        /// Answers to requests that do not reach the broker.
        package var toClient = ByteBuffer()
    }

    private enum Speaker { case unknown, java, other }
    private enum APIKey {
        static let listOffsets: Int16 = 2
        static let metadata: Int16 = 3
        static let findCoordinator: Int16 = 10
        static let apiVersions: Int16 = 18
    }
    private struct Awaited {
        var apiKey: Int16
        var version: Int16
    }
    private static let listOffsetsVersionMax: Int16 = 3
    private static let softwareName = Array("apache-kafka-java".utf8)
    /// Bytes of a request's API key, version and correlation id.
    private static let headByteCount = 8

    /// The forwarder's port for each broker's port.
    private let ports: [Int32: Int32]
    private var speaker = Speaker.unknown
    private var ofClient = ByteBuffer()
    private var ofBroker = ByteBuffer()
    /// Requests whose answers will be changed, by correlation id.
    private var awaited: [Int32: Awaited] = [:]

    /// Creates the conversation of a new connection.
    /// - Parameter ports: the forwarder's port for each broker's port.
    package init(ports: [Int32: Int32]) { self.ports = ports }

    /// Takes bytes from the client. A request may arrive in several pieces.
    /// - Returns: the bytes to send to the broker, and answers to send to the client.
    /// - Throws: `Failure` when the bytes are not a request.
    package mutating func clientSaid(_ bytes: ByteBuffer) throws(Failure) -> Passage {
        var passage = Passage()
        guard self.speaker != .other else {
            passage.toBroker = bytes
            return passage
        }
        self.ofClient.writeImmutableBuffer(bytes)
        while let frame = try Self.nextFrame(of: &self.ofClient) {
            try self.take(frame, &passage)
            if self.speaker == .other {
                passage.toBroker.writeBuffer(&self.ofClient)
                break
            }
        }
        self.ofClient.discardReadBytes()
        return passage
    }

    /// Takes bytes from the broker. An answer may arrive in several pieces.
    /// - Returns: the bytes for the client.
    /// - Throws: `Failure` when the bytes are not an answer.
    package mutating func brokerSaid(_ bytes: ByteBuffer) throws(Failure) -> ByteBuffer {
        guard self.speaker == .java else { return bytes }
        self.ofBroker.writeImmutableBuffer(bytes)
        var rewritten = ByteBuffer()
        while var frame = try Self.nextFrame(of: &self.ofBroker) {
            if let correlation = frame.getInteger(at: frame.readerIndex + 4, as: Int32.self),
                let awaited = self.awaited.removeValue(forKey: correlation)
            {
                if awaited.apiKey == APIKey.apiVersions {
                    Self.lowerVersions(in: &frame)
                } else {
                    self.putPorts(into: &frame, of: awaited)
                }
            }
            rewritten.writeBuffer(&frame)
        }
        self.ofBroker.discardReadBytes()
        return rewritten
    }

    private mutating func take(_ frame: ByteBuffer, _ passage: inout Passage) throws(Failure) {
        let start = frame.readerIndex + 4
        guard frame.readableBytes >= 4 + Self.headByteCount,
            let apiKey = frame.getInteger(at: start, as: Int16.self),
            let version = frame.getInteger(at: start + 2, as: Int16.self),
            let correlation = frame.getInteger(at: start + 4, as: Int32.self)
        else { throw Failure() }
        let asksForVersions = apiKey == APIKey.apiVersions && version >= 3
        if self.speaker == .unknown {
            let isJava = asksForVersions && frame.readableBytesView.firstRange(of: Self.softwareName) != nil
            self.speaker = isJava ? .java : .other
        }
        if self.speaker == .java, asksForVersions {
            passage.toClient.writeInteger(Int32(16))
            passage.toClient.writeInteger(correlation)
            // The answer has the error UNSUPPORTED_VERSION and one entry: ApiVersions has the versions 0 to 2.
            passage.toClient.writeMultipleIntegers(Int16(35), Int32(1), APIKey.apiVersions, Int16(0), Int16(2))
            return
        }
        if self.speaker == .java, [APIKey.metadata, APIKey.findCoordinator, APIKey.apiVersions].contains(apiKey) {
            guard self.awaited.count < Self.awaitedMax else { throw Failure() }
            self.awaited[correlation] = Awaited(apiKey: apiKey, version: version)
        }
        passage.toBroker.writeImmutableBuffer(frame)
    }

    /// Lowers the newest version of ListOffsets in an answer to ApiVersions. After the error, the answer lists each API
    /// with its oldest and newest version.
    private static func lowerVersions(in frame: inout ByteBuffer) {
        var index = frame.readerIndex + 10
        guard let count = frame.getInteger(at: index, as: Int32.self), count >= 0 else { return }
        index += 4
        for _ in 0..<count {
            guard let apiKey = frame.getInteger(at: index, as: Int16.self),
                let newest = frame.getInteger(at: index + 4, as: Int16.self)
            else { return }
            if apiKey == APIKey.listOffsets, newest > Self.listOffsetsVersionMax {
                frame.setInteger(Self.listOffsetsVersionMax, at: index + 4)
            }
            index += 6
        }
    }

    // MARK: Addresses

    /// Replaces the brokers' ports in an answer. If the form of the answer's version is not known here, the answer
    /// stays unchanged, and the client connects to the brokers directly.
    private func putPorts(into frame: inout ByteBuffer, of awaited: Awaited) {
        // The frame's length and correlation id are skipped.
        var index = frame.readerIndex + 8
        if awaited.apiKey == APIKey.metadata {
            guard (0...2).contains(awaited.version),
                let count = frame.getInteger(at: index, as: Int32.self), count >= 0
            else { return }
            index += 4
            for _ in 0..<count {
                guard self.putPort(into: &frame, at: &index) else { return }
                if awaited.version >= 1, !Self.skipString(of: frame, at: &index) { return }
            }
        } else {
            guard (0...2).contains(awaited.version) else { return }
            // These bytes are the throttle time, which version 0 lacks, and the error.
            index += awaited.version >= 1 ? 6 : 2
            if awaited.version >= 1, !Self.skipString(of: frame, at: &index) { return }
            _ = self.putPort(into: &frame, at: &index)
        }
    }

    /// Replaces the port of a broker in an answer, where each broker has a number, a host and a port.
    private func putPort(into frame: inout ByteBuffer, at index: inout Int) -> Bool {
        index += 4
        guard Self.skipString(of: frame, at: &index), let port = frame.getInteger(at: index, as: Int32.self) else {
            return false
        }
        if let ours = self.ports[port] { frame.setInteger(ours, at: index) }
        index += 4
        return true
    }

    /// Skips a string: its length in two bytes, then its bytes. A null has a negative length.
    private static func skipString(of frame: ByteBuffer, at index: inout Int) -> Bool {
        guard let length = frame.getInteger(at: index, as: Int16.self) else { return false }
        index += 2 + Int(max(0, length))
        return index <= frame.writerIndex
    }

    /// Takes the next request or answer, including its length, from the buffer; `nil` while it is incomplete.
    private static func nextFrame(of buffer: inout ByteBuffer) throws(Failure) -> ByteBuffer? {
        guard let length = buffer.getInteger(at: buffer.readerIndex, as: Int32.self) else { return nil }
        guard (4...Self.frameByteCountMax).contains(Int(length)) else { throw Failure() }
        return buffer.readSlice(length: 4 + Int(length))
    }
}
