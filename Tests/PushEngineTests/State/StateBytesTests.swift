import PushModel
import Testing

@testable import PushEngine

@Suite struct StateBytesTests {
    @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 1 << 56, 1 << 63, .max] as [UInt64])
    func unsignedComesBack(_ value: UInt64) throws {
        let written = StateRandom.written { $0.unsigned(value) }
        var reader = StateReader(written.span)
        let (read, isAtEnd) = (try reader.unsigned(), reader.isAtEnd)
        #expect(read == value)
        #expect(isAtEnd)
    }

    @Test(arguments: [0, 1, -1, 63, -64, 64, .max, .min, .max - 1, .min + 1] as [Int64])
    func signedComesBack(_ value: Int64) throws {
        let written = StateRandom.written { writer in
            writer.signed(value)
            writer.optional(value)
            writer.optional(nil)
        }
        var reader = StateReader(written.span)
        let read = (try reader.signed(), try reader.optional(), try reader.optional(), reader.isAtEnd)
        #expect(read == (value, value, nil, true))
    }

    @Test func runsComeBack() throws {
        let bytes: [UInt8] = [0, 255, 7]
        let empty: [UInt8] = []
        let written = StateRandom.written { writer in
            writer.run(bytes.span)
            writer.run(empty.span)
        }
        var reader = StateReader(written.span)
        let read = (try reader.run(byteCountMax: 3), try reader.run(byteCountMax: 0), reader.isAtEnd)
        #expect(read == (bytes, empty, true))
    }

    struct Bad: Sendable {
        var bytes: [UInt8]
        var error: StateError
    }

    @Test(arguments: [
        Bad(bytes: [], error: .truncated),
        Bad(bytes: [0x80], error: .truncated),
        Bad(bytes: [UInt8](repeating: 0xff, count: 9) + [0x02], error: .malformed("a number has more than 64 bits")),
        Bad(bytes: [UInt8](repeating: 0x80, count: 11), error: .malformed("a number has more than 64 bits")),
    ])
    func aBadNumberThrows(_ bad: Bad) {
        #expect(Self.fault(in: bad.bytes) { reader throws(StateError) in _ = try reader.unsigned() } == bad.error)
    }

    @Test func aBadRunThrows() {
        func fault(_ bytes: [UInt8], byteCountMax: Int) -> StateError? {
            Self.fault(in: bytes) { reader throws(StateError) in _ = try reader.run(byteCountMax: byteCountMax) }
        }
        #expect(fault([4, 1, 2, 3], byteCountMax: 100) == .truncated)
        #expect(fault([4, 1, 2, 3, 4], byteCountMax: 3) == .malformed("a run of 4 bytes is over 3"))
        let huge: [UInt8] = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]
        #expect(fault(huge, byteCountMax: .max) != nil)
    }

    @Test func anOptionalIsAbsentOrPresent() {
        let fault = Self.fault(in: [2]) { reader throws(StateError) in _ = try reader.optional() }
        #expect(fault == .malformed("an optional is neither absent nor present"))
    }

    private static func fault(
        in bytes: [UInt8], _ read: (inout StateReader) throws(StateError) -> Void
    ) -> StateError? {
        var reader = StateReader(bytes.span)
        do throws(StateError) {
            try read(&reader)
            return nil
        } catch {
            return error
        }
    }
}
