import Testing

@testable import PushTransport

/// Tests of GOAWAY frames whose debug data is not the JSON that Apple documents.
@Suite(.timeLimit(.minutes(5))) struct GoAwayTests {
    @Test(
        arguments: [
            ("Maximum active streams violated for this endpoint", "Maximum active streams violated for this endpoint"),
            ("", ""), ("a\r\nb\u{0}c\u{1B}[31m\u{7F}", "a??b?c?[31m?"), ("\u{202E}\u{2028}x\u{9B}", "??x?"), ("é", "é"),
        ]) func debugDataIsAShortLine(data: String, shown: String)
    {
        #expect(RouteRunner.printable(Array(data.utf8).span) == shown)
    }

    @Test func debugDataIsCut() {
        let long = RouteRunner.printable(Array(repeating: UInt8(ascii: "a"), count: 16_000).span)
        #expect(long == String(repeating: "a", count: RouteRunner.debugDataByteCountMax) + "…")
        // The text is cut in the middle of a character. Other bytes contain no character at all.
        let cut = RouteRunner.printable(Array(("a" + String(repeating: "é", count: 100)).utf8).span)
        #expect(cut.hasSuffix("é\u{FFFD}…"))
        #expect(RouteRunner.printable(([0xFF, 0xC0, 0x80, 0xED, 0xA0, 0x80] as [UInt8]).span).contains("\u{FFFD}"))
    }

    @Test(
        arguments: [
            Array("Maximum active streams violated for this endpoint".utf8), [0xFF, 0, 0x0A, 0xC3],
            Array(repeating: UInt8(ascii: "x"), count: 16_000), Array("{\"reason\":".utf8), Array("[1]".utf8),
            Array("{\"reason\":{\"reason\":\"x\"}}".utf8),
        ] as [[UInt8]]) func foreignDebugDataLosesNothing(debugData: [UInt8]) async throws
    {
        try await withServer({ request in
            (request.connection, request.numberOnConnection) == (1, 30) ? .goAwaySaying(debugData) : .ok
        }) { _, bench in
            try await bench.expectAccepted(200)
            let goAways = try await bench.counters().goAways
            #expect(goAways == ["NO_ERROR": 1], "a peer's words are no label of a metric")
        }
    }
}
