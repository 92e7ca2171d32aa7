/// The cheapest HTTP/2 server that looks like a real APNs server to a client, judged by its frames. It steps over
/// frames and header blocks without decompressing them. It serves to measure a sender, and checks only that a request
/// has enough header fields and a body.
///
/// The session works on bytes alone and has no socket. It does not read names and values of header fields, so all
/// answers with 200 carry the same `apns-id`.
struct SinkSession {
    /// Least number of header fields in a request: four pseudo-header fields, authorization, topic, push type and
    /// priority or id.
    static let fieldCountMin = 8
    /// Largest frame that the server announces. A larger frame ends the connection (RFC 9113 §4.2).
    static let frameByteCountMax = 16_384
    /// Number of received bytes that one WINDOW_UPDATE acknowledges: a quarter of the window of 65,535.
    static let windowUpdateByteCount = 16_384

    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private static let frameHeaderByteCount = 9

    enum State: Equatable { case open, failed(String) }

    private(set) var state = State.open
    /// Received bytes that do not make up a whole preface or frame yet.
    private var rest: [UInt8] = []
    private var hasPreface = false
    private var unacknowledgedByteCount = 0
    /// A header block that is not complete yet: HEADERS without END_HEADERS and the frames after it.
    private var block: (streamID: UInt32, endsStream: Bool, bytes: [UInt8])?
    /// Streams with too few header fields whose body has not arrived yet.
    private var faultyStreams: Set<UInt32> = []
    private static let faultyStreamsMax = 10_000
    /// Streams whose requests arrived completely since this list was last emptied. The top bit marks requests that
    /// lacked header fields or a body.
    var finished: [UInt32] = []
    static let faultyBit: UInt32 = 0x8000_0000

    /// Appends the server's SETTINGS, which must be its first frame.
    static func appendSettings(concurrentStreamsMax: UInt32, to output: inout [UInt8]) {
        Self.appendFrameHeader(byteCount: 6, type: 4, flags: 0, streamID: 0, to: &output)
        // SETTINGS_MAX_CONCURRENT_STREAMS (RFC 9113 §6.5.2); everything else is the protocol's default, as APNs has it.
        output += [0, 3]
        Self.append32(concurrentStreamsMax, to: &output)
    }

    /// Appends HEADERS that end the stream: 200 with an `apns-id`, or 400 for a faulty request.
    static func appendAnswer(_ finished: UInt32, to output: inout [UInt8]) {
        let isFaulty = finished & Self.faultyBit != 0
        let block = isFaulty ? Self.refusedBlock : Self.acceptedBlock
        Self.appendFrameHeader(
            byteCount: block.count, type: 1, flags: 0x5, streamID: finished & ~Self.faultyBit, to: &output)
        output += block
    }

    /// `:status: 200` is entry 8 of HPACK's static table, 400 is 12; `apns-id` is a literal without indexing (RFC 7541
    /// §6.1, §6.2.2).
    private static let acceptedBlock =
        [0x88, 0x00, 7] + Array("apns-id".utf8) + [36] + Array("5117ca11-0000-4000-8000-000000000000".utf8)
    private static let refusedBlock: [UInt8] = [0x8C]

    /// Takes bytes from the client. Appends to `output` what must be sent at once, and to `finished` the requests that
    /// can be answered.
    mutating func receive(_ bytes: Span<UInt8>, output: inout [UInt8]) {
        guard self.state == .open else { return }
        if self.rest.isEmpty {
            let taken = self.take(bytes, output: &output)
            if taken < bytes.count { self.keep(bytes.extracting(taken..<bytes.count)) }
        } else {
            self.keep(bytes)
            var joined: [UInt8] = []
            swap(&joined, &self.rest)
            let taken = self.take(joined.span, output: &output)
            joined.removeFirst(taken)
            self.rest = joined
        }
        if self.unacknowledgedByteCount >= Self.windowUpdateByteCount {
            Self.appendFrameHeader(byteCount: 4, type: 8, flags: 0, streamID: 0, to: &output)
            Self.append32(UInt32(self.unacknowledgedByteCount), to: &output)
            self.unacknowledgedByteCount = 0
        }
    }

    private mutating func keep(_ bytes: Span<UInt8>) {
        // The pointer is used within the closure only.
        bytes.withUnsafeBufferPointer { self.rest.append(contentsOf: $0) }
    }

    /// Handles the preface and the frames that have arrived whole. Returns how many of the bytes need not be kept.
    private mutating func take(_ bytes: Span<UInt8>, output: inout [UInt8]) -> Int {
        var at = 0
        if !self.hasPreface {
            guard bytes.count >= Self.preface.count else { return 0 }
            guard bytes.extracting(0..<Self.preface.count).equals(Self.preface) else {
                self.state = .failed("no HTTP/2 preface")
                return bytes.count
            }
            self.hasPreface = true
            at = Self.preface.count
        }
        while bytes.count - at >= Self.frameHeaderByteCount {
            let byteCount = Int(bytes[at]) << 16 | Int(bytes[at + 1]) << 8 | Int(bytes[at + 2])
            guard byteCount <= Self.frameByteCountMax else {
                self.state = .failed("a frame of \(byteCount) bytes")
                return bytes.count
            }
            let end = at + Self.frameHeaderByteCount + byteCount
            guard end <= bytes.count else { break }
            self.frame(bytes, at, payload: at + Self.frameHeaderByteCount..<end, output: &output)
            guard self.state == .open else { return bytes.count }
            at = end
        }
        return at
    }

    private mutating func frame(_ bytes: Span<UInt8>, _ at: Int, payload: Range<Int>, output: inout [UInt8]) {
        let flags = bytes[at + 4]
        let streamID =
            (UInt32(bytes[at + 5]) << 24 | UInt32(bytes[at + 6]) << 16 | UInt32(bytes[at + 7]) << 8
                | UInt32(bytes[at + 8]))
            & 0x7FFF_FFFF
        switch bytes[at + 3] {
        case 0:
            self.unacknowledgedByteCount += payload.count
            if flags & 0x1 != 0 {
                let isFaulty = !self.faultyStreams.isEmpty && self.faultyStreams.remove(streamID) != nil
                self.finished.append(isFaulty ? streamID | Self.faultyBit : streamID)
            }
        case 1:
            self.headers(bytes, flags: flags, streamID: streamID, payload: payload)
        case 9:
            self.continuation(bytes, flags: flags, streamID: streamID, payload: payload)
        case 4 where flags & 0x1 == 0:
            Self.appendFrameHeader(byteCount: 0, type: 4, flags: 0x1, streamID: 0, to: &output)
        case 6 where flags & 0x1 == 0 && payload.count == 8:
            Self.appendFrameHeader(byteCount: 8, type: 6, flags: 0x1, streamID: 0, to: &output)
            for index in payload { output.append(bytes[index]) }
        default:
            // PRIORITY, RST_STREAM, GOAWAY and WINDOW_UPDATE have no effect here. The client ignores an answer to a
            // stream that it has reset.
            break
        }
    }

    private mutating func headers(_ bytes: Span<UInt8>, flags: UInt8, streamID: UInt32, payload: Range<Int>) {
        var (start, end) = (payload.lowerBound, payload.upperBound)
        if flags & 0x8 != 0, start < end {
            end -= Int(bytes[start])
            start += 1
        }
        if flags & 0x20 != 0 { start += 5 }
        guard start <= end else {
            self.state = .failed("padding longer than the frame")
            return
        }
        let endsStream = flags & 0x1 != 0
        if flags & 0x4 == 0 {
            self.block = (streamID, endsStream, bytes.extracting(start..<end).array)
        } else {
            self.finishBlock(bytes.extracting(start..<end), streamID: streamID, endsStream: endsStream)
        }
    }

    private mutating func continuation(_ bytes: Span<UInt8>, flags: UInt8, streamID: UInt32, payload: Range<Int>) {
        guard var block = self.block, block.streamID == streamID,
            block.bytes.count + payload.count <= 4 * Self.frameByteCountMax
        else {
            self.state = .failed("CONTINUATION out of place or too long")
            return
        }
        block.bytes += bytes.extracting(payload).array
        self.block = block
        guard flags & 0x4 != 0 else { return }
        self.block = nil
        self.finishBlock(block.bytes.span, streamID: streamID, endsStream: block.endsStream)
    }

    private mutating func finishBlock(_ block: Span<UInt8>, streamID: UInt32, endsStream: Bool) {
        guard let fieldCount = HeaderBlockWalk.fieldCount(block) else {
            self.state = .failed("a header block that is not HPACK")
            return
        }
        if endsStream {
            // A push without a body is refused, even if it has all header fields.
            self.finished.append(streamID | Self.faultyBit)
        } else if fieldCount < Self.fieldCountMin {
            guard self.faultyStreams.count < Self.faultyStreamsMax else {
                self.state = .failed("\(Self.faultyStreamsMax) requests with too few header fields")
                return
            }
            self.faultyStreams.insert(streamID)
        }
    }

    private static func appendFrameHeader(
        byteCount: Int, type: UInt8, flags: UInt8, streamID: UInt32, to output: inout [UInt8]
    ) {
        output.append(UInt8(truncatingIfNeeded: byteCount >> 16))
        output.append(UInt8(truncatingIfNeeded: byteCount >> 8))
        output.append(UInt8(truncatingIfNeeded: byteCount))
        output.append(type)
        output.append(flags)
        Self.append32(streamID, to: &output)
    }

    private static func append32(_ value: UInt32, to output: inout [UInt8]) {
        output.append(UInt8(truncatingIfNeeded: value >> 24))
        output.append(UInt8(truncatingIfNeeded: value >> 16))
        output.append(UInt8(truncatingIfNeeded: value >> 8))
        output.append(UInt8(truncatingIfNeeded: value))
    }
}
