import PushModel
import Testing

@testable import HTTP2Session

/// Tests that nghttp2's decoder reads back what our encoder writes, field by field.
@Suite("Header compression")
struct HeaderEncoderTests {
    private static let names = [
        "apns-id", "apns-topic", "authorization", "x-a", "x-b", "content-type", "accept", "user-agent",
    ]
    private static let values = [
        "", "1", "10", "liveactivity", "com.example.pizza.push-type.liveactivity", "a b c", "\u{e4}\u{2713}",
    ]
    private static let pseudo: [HTTP2Field] = [
        .fixed(":method", "POST"), .fixed(":scheme", "https"), .fixed(":path", "/"), .fixed(":authority", "a"),
    ]

    /// Every field of random templates arrives with its random value. There are only a few names, so that fields share
    /// table entries. The table's size changes during the test.
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func everyFieldArrives(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        func value() -> String {
            if Int.random(in: 0..<4, using: &random) > 0 { return Self.values.randomElement(using: &random)! }
            return String(
                repeating: Character(UnicodeScalar(UInt8.random(in: 33...126, using: &random))),
                count: Int.random(in: 0...300, using: &random))
        }
        func indexing() -> HTTP2Field.Indexing { [.allowed, .name, .never].randomElement(using: &random)! }
        var settings = HTTP2ServerSettings()
        settings.checksMessages = false
        settings.headerTableByteCount = [0, 40, 300, 4_096, 65_536].randomElement(using: &random)!
        let pipe = HTTP2Pipe(server: settings, seed: seed, chunkMax: 700)
        let templates = (0..<50).map { _ in
            HTTP2HeaderTemplate(
                Self.pseudo
                    + (0..<Int.random(in: 0...8, using: &random)).map { _ in
                        let name = Self.names.randomElement(using: &random)!
                        return Bool.random(using: &random)
                            ? .fixed(name, value(), indexing: indexing()) : .variable(name, indexing: indexing())
                    })
        }
        var expected: [[[String]]] = []
        for number in 0..<300 {
            let template = templates[Int.random(in: 0..<(seed % 2 == 0 ? 5 : 50), using: &random)]
            var values = HTTP2HeaderValues()
            let fields = template.fields.map { field -> [String] in
                if let fixed = field.value { return [field.name, String(decoding: fixed, as: UTF8.self)] }
                let text = value()
                values.append(Array(text.utf8))
                return [field.name, text]
            }
            guard pipe.client.submit(template, values: values, body: [], tag: UInt32(number)).streamID != nil else {
                pipe.run()
                continue
            }
            expected.append(fields)
            if Int.random(in: 0..<20, using: &random) == 0 { pipe.run() }
            if Int.random(in: 0..<40, using: &random) == 0 {
                let sizes = [0, 33, 100, 1_000, 4_096, 1 << 20].shuffled(using: &random)
                for size in sizes.prefix(2) {
                    pipe.server.change(HTTP2SettingsChange(headerTableByteCount: UInt32(size)))
                }
                pipe.serverToClient()
            }
        }
        pipe.run()
        #expect(pipe.requests.map(\.fields) == expected)
        #expect(pipe.clientDebugData.isEmpty)
    }

    /// Every entry of the static table is sent as a whole field, and by its name with a literal value.
    @Test func theStaticTableIsTheOneOfTheRFC() {
        #expect(HPACKStaticTable.entries.count == 61)
        var settings = HTTP2ServerSettings()
        settings.checksMessages = false
        let pipe = HTTP2Pipe(server: settings)
        for indexing in [HTTP2Field.Indexing.allowed, .never] {
            let fields = HPACKStaticTable.entries.map {
                HTTP2Field.fixed(String(decoding: $0.name, as: UTF8.self), $0.value, indexing: indexing)
            }
            _ = pipe.client.submit(HTTP2HeaderTemplate(fields), values: HTTP2HeaderValues(), tag: 1)
        }
        pipe.run()
        let expected: [[String]] = HPACKStaticTable.entries.map { entry in
            [entry.name, entry.value].map { String(decoding: $0, as: UTF8.self) }
        }
        #expect(pipe.requests.map(\.fields) == [expected, expected])
    }

    /// A field that is in the static table takes one byte. A secret is never inserted into a table. All other fields
    /// are short when the peer knows them.
    @Test func aRepeatedRequestIsMostlyIndices() {
        var encoder = HeaderEncoder()
        var output = OutputBuffer()
        defer {
            encoder.free()
            output.free()
        }
        let template = HTTP2HeaderTemplate([
            .fixed(":method", "POST"), .fixed("authorization", "secret", indexing: .never),
            .fixed("apns-topic", "com.example"),
            .variable("apns-id"),
        ])
        func block(_ id: String) -> [UInt8] {
            var message = OutgoingMessage()
            defer { message.free() }
            var values = HTTP2HeaderValues()
            values.append(Array(id.utf8))
            message.fill(values: values, body: [UInt8]().span)
            encoder.append(plan: encoder.plan(for: template), message, streamID: 1, flags: 0, to: &output)
            defer { output.discard(output.count) }
            return Array(output.bytes[9...])
        }
        let first = block("a")
        let second = block("b")
        let third = block("c")
        #expect(first[0] == 0x83)
        #expect(first[1] == 0x1f && first[2] == 8)
        #expect(second.count == third.count)
        // apns-topic is entry 63 of the peer's table. The name apns-id is entry 62, whose index takes two bytes: 15 in
        // the first and 47 in the second.
        let end: [UInt8] = [0xbf, 0x1f, 47, 1, UInt8(ascii: "c")]
        #expect(Array(third.suffix(5)) == end)
    }

    /// A header block that is too long for one frame is continued in CONTINUATION frames. The next block is short
    /// again.
    @Test func aLongBlockIsContinued() {
        var settings = HTTP2ServerSettings()
        settings.requestFieldsByteCountMax = 100_000
        let pipe = HTTP2Pipe(server: settings, chunkMax: 5_000)
        let template = HTTP2HeaderTemplate(Self.pseudo + [.variable("x-long"), .variable("x-short")])
        let long: [UInt8] = (0..<40_000).map { 97 + UInt8($0 % 26) }
        for value in [long, [], Array(long[..<16_384]), Array(long[..<16_300])] {
            var values = HTTP2HeaderValues()
            values.append(value)
            values.append(Array("end".utf8))
            #expect(pipe.client.submit(template, values: values, body: [1], tag: 1).streamID != nil)
        }
        pipe.run()
        let lengths = pipe.requests.map { $0.value("x-long")?.utf8.count ?? -1 }
        #expect(lengths == [40_000, 0, 16_384, 16_300])
        #expect(pipe.requests.allSatisfy { $0.value("x-short") == "end" && $0.body == [1] })
    }

    @Test(arguments: [0, 1, 126, 127, 128, 254, 255, 16_382, 16_383, 16_510, 1 << 20])
    func numbersOfAllSizes(number: Int) {
        for prefixBits in 4...7 {
            var bytes: [UInt8] = []
            HPACKText.appendInteger(number, prefixBits: prefixBits, first: 0, to: &bytes)
            let prefixMax = (1 << prefixBits) - 1
            var value = Int(bytes[0])
            if value == prefixMax {
                for (place, byte) in bytes.dropFirst().enumerated() { value += Int(byte & 127) << (7 * place) }
            }
            #expect(value == number)
            #expect(bytes.dropFirst().dropLast().allSatisfy { $0 >= 128 })
            #expect(bytes.count <= HPACKText.integerByteCountMax)
        }
    }
}
