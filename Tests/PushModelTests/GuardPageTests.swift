import Foundation
import PushModel
import Testing

/// Tests that reading whole words touches no memory outside the given bytes. The bytes lie at the edge of memory that
/// must not be touched, so a read outside ends the test process.
@Suite struct GuardPageTests {
    /// A page of memory between two pages that must not be touched.
    private final class GuardedPage {
        static let byteCount = Int(sysconf(Int32(_SC_PAGESIZE)))
        private let memory: UnsafeMutableRawPointer

        init() throws {
            let protection = PROT_READ | PROT_WRITE
            let memory = mmap(nil, 3 * Self.byteCount, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            self.memory = try #require(memory != MAP_FAILED ? memory : nil)
            try #require(mprotect(self.memory, Self.byteCount, PROT_NONE) == 0)
            try #require(mprotect(self.memory + 2 * Self.byteCount, Self.byteCount, PROT_NONE) == 0)
        }

        deinit { munmap(self.memory, 3 * Self.byteCount) }

        /// Calls `body` with a copy of the bytes at the beginning of the page, and with one at its end.
        func withBytes(_ bytes: [UInt8], _ body: (Span<UInt8>) -> Void) {
            for offset in [Self.byteCount, 2 * Self.byteCount - bytes.count] {
                let copy = UnsafeMutableBufferPointer(
                    start: (self.memory + offset).assumingMemoryBound(to: UInt8.self), count: bytes.count)
                _ = copy.update(fromContentsOf: bytes)
                body(UnsafeBufferPointer(copy).span)
            }
        }
    }

    @Test func comparingReadsNothingElse() throws {
        let (page, otherPage) = (try GuardedPage(), try GuardedPage())
        for count in 0...40 {
            let bytes = (0..<count).map { UInt8($0 + 1) }
            for place in -1..<count {
                var other = bytes
                if place >= 0 { other[place] ^= 0x80 }
                page.withBytes(bytes) { left in
                    otherPage.withBytes(other) { right in
                        let isSame = left.holdsSameBytes(as: right)
                        #expect(isSame == (place < 0), "\(count) bytes, another one at \(place)")
                        if count > 0 {
                            let shorter = right.extracting(0..<count - 1)
                            let isSameToo = left.holdsSameBytes(as: shorter)
                            #expect(!isSameToo)
                        }
                    }
                }
            }
        }
    }

    /// Texts of each length have a piece of other bytes at each position. The functions under test look for plain text
    /// and for UTF-8, and compute the partition.
    @Test func lookingAtTextReadsNothingElse() throws {
        let page = try GuardedPage()
        let pieces: [[UInt8]] = [
            [], [0x22], [0x1F], [0x80], [0xC3, 0xA9], [0xE2, 0x82, 0xAC], [0xF0, 0x9F, 0x8D, 0x95], [0xC3],
            [0xE2, 0x82], [0xF0, 0x9F, 0x8D], [0xED, 0xA0, 0x80], [0xFF],
        ]
        for count in 0...26 {
            for piece in pieces {
                for place in 0...count {
                    var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: count)
                    bytes.insert(contentsOf: piece, at: place)
                    let isText = String(validating: bytes, as: UTF8.self) != nil
                    let isPlain = !bytes.contains { $0 < 0x20 || $0 >= 0x80 || $0 == 0x22 || $0 == 0x5C }
                    page.withBytes(bytes) { span in
                        let fault = UTF8Validation.firstFault(in: span)
                        #expect((fault == nil) == isText, "\(bytes)")
                        if fault != nil { #expect(fault == place, "\(bytes)") }
                        let isPlainHere = span.isPlainASCII
                        #expect(isPlainHere == isPlain, "\(bytes)")
                        let partition = Murmur2.partition(key: span, count: 64)
                        let expected = Murmur2.partition(key: bytes.span, count: 64)
                        #expect(partition == expected)
                    }
                }
            }
        }
    }

    /// Skipping a value touches no memory outside its bytes, although strings are read 64 bytes at a time.
    @Test func passingAValueReadsNothingElse() throws {
        let page = try GuardedPage()
        for count in 0...200 {
            let inside = [UInt8](repeating: UInt8(ascii: "a"), count: count)
            for (lead, isClosed) in [("", true), ("", false), (" \n", true), (" \n", false)] {
                let text = Array(lead.utf8) + [0x22] + inside + (isClosed ? [0x22] : [])
                page.withBytes(text) { span in
                    var cursor = JSONCursor()
                    var fault: JSONFault?
                    do throws(JSONFault) { _ = try cursor.skipValue(span) } catch { fault = error }
                    let end = cursor.index
                    #expect(fault == (isClosed ? nil : JSONFault(.unexpectedEnd, at: text.count)))
                    #expect(!isClosed || end == text.count)
                }
            }
        }
    }

    @Test func hexadecimalReadsNothingElse() throws {
        let page = try GuardedPage()
        for count in 0...70 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37) }
            var digits: [UInt8] = []
            page.withBytes(bytes) { span in
                digits = []
                Hex.append(span, to: &digits)
            }
            page.withBytes(digits) { span in
                var decoded: [UInt8] = []
                let isDecoded = Hex.decode(span, to: &decoded)
                #expect(isDecoded && decoded == bytes)
            }
        }
    }

    /// Damaged and cut events are decoded with the same result at either end of the page as elsewhere.
    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func decodingReadsNothingElse(seed: UInt64) throws {
        let page = try GuardedPage()
        var random = SplitMix64(seed: seed)
        var (event, expected) = (DecodedEvent(), DecodedEvent())
        for _ in 0..<400 {
            var bytes = EventDecoderFuzzTests.mutated(&random)
            if Bool.random(using: &random) {
                bytes.removeLast(Int.random(in: 0...min(24, bytes.count), using: &random))
            }
            guard bytes.count <= GuardedPage.byteCount else { continue }
            var refusal: EventRejection?
            do throws(EventRejection) { try EventDecoder.decode(bytes.span, into: &expected) } catch { refusal = error }
            page.withBytes(bytes) { span in
                var here: EventRejection?
                do throws(EventRejection) { try EventDecoder.decode(span, into: &event) } catch { here = error }
                #expect(here?.reason == refusal?.reason && here?.field == refusal?.field)
                if refusal == nil {
                    #expect(event.text == expected.text && event.kind == expected.kind)
                    #expect(event.contentStateInValue == expected.contentStateInValue)
                    #expect(event.alertInValue == expected.alertInValue)
                }
            }
        }
    }
}
