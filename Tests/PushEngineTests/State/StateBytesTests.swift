@testable import PushEngine
import Testing

@Suite struct StateBytesTests {
    @Test(arguments: [0, 1, 127, 128, 16_383, 16_384, 1 << 56, 1 << 63, .max] as [UInt64])
    func unsignedComesBack(_ value: UInt64) throws {
        var reader = StateReader(StateRandom.written { $0.unsigned(value) })
        #expect(try reader.unsigned() == value)
        #expect(reader.isAtEnd)
    }

    @Test(arguments: [0, 1, -1, 63, -64, 64, .max, .min, .max - 1, .min + 1] as [Int64])
    func signedComesBack(_ value: Int64) throws {
        let written = StateRandom.written { writer in
            writer.signed(value)
            writer.optional(value)
            writer.optional(nil)
        }
        var reader = StateReader(written)
        #expect(try reader.signed() == value)
        #expect(try reader.optional() == value)
        #expect(try reader.optional() == nil)
        #expect(reader.isAtEnd)
    }

    @Test func runsComeBack() throws {
        let bytes: [UInt8] = [0, 255, 7]
        let empty: [UInt8] = []
        let written = StateRandom.written { writer in
            writer.run(bytes.span)
            writer.run(empty.span)
        }
        var reader = StateReader(written)
        #expect(try reader.run(byteCountMax: 3) == bytes)
        #expect(try reader.run(byteCountMax: 0) == empty)
        #expect(reader.isAtEnd)
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
        var reader = StateReader(bad.bytes)
        #expect(throws: bad.error) { try reader.unsigned() }
    }

    @Test func aBadRunThrows() {
        var long = StateReader([4, 1, 2, 3])
        #expect(throws: StateError.truncated) { try long.run(byteCountMax: 100) }
        var overLimit = StateReader([4, 1, 2, 3, 4])
        #expect(throws: StateError.malformed("a run of 4 bytes is over 3")) { try overLimit.run(byteCountMax: 3) }
        var huge = StateReader([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01])
        #expect(throws: (any Error).self) { try huge.run(byteCountMax: .max) }
    }

    @Test func anOptionalIsAbsentOrPresent() {
        var reader = StateReader([2])
        #expect(throws: StateError.malformed("an optional is neither absent nor present")) { try reader.optional() }
    }
}
