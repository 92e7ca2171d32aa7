import CProcessor

/// The bytes of a JSON text at which a run of plain characters inside a string ends, one after the other: 64 bytes are looked at together,
/// and what was found is then walked through bit by bit. The walker keeps it. The text comes with each call, and must be the
/// same each time.
struct JSONStops {
    private static var blockByteCount: Int { 64 }

    /// The index of the first of the bytes that were looked at last; a bit of `rest` stands for each.
    private var base = 0
    /// Stops among them that were not answered yet; 0 before the first look. The end of the text counts as one, and all that would come
    /// after it.
    private var rest: UInt64 = 0

    /// The end of the plain run behind the quote at `quote`: the next stop, or the text's count. Strings are asked for in order; of the white
    /// space between them, `dropping` has to be told.
    @inline(__always) mutating func next(after quote: Int, in bytes: Span<UInt8>) -> Int {
        if self.rest == 0 { self = Self.from(quote, in: bytes) }
        // The quote itself is one.
        self.rest &= self.rest &- 1
        while self.rest == 0 { self = Self.from(self.base &+ Self.blockByteCount, in: bytes) }
        let stop = self.base &+ self.rest.trailingZeroBitCount
        self.rest &= self.rest &- 1
        return stop
    }

    /// What stands before `index` is no string: line ends and tabs are stops, too.
    @inline(never) consuming func dropping(before index: Int) -> JSONStops {
        while self.rest != 0, self.base &+ self.rest.trailingZeroBitCount < index { self.rest &= self.rest &- 1 }
        return self
    }

    /// Those of the 64 bytes from `index` on, which is not negative and not past the text's count.
    @inline(never) static func from(_ index: Int, in bytes: Span<UInt8>) -> JSONStops {
        var stops = JSONStops()
        stops.base = index
        let here = bytes.count &- index
        if here >= Self.blockByteCount {
            stops.rest = Self.stops(in: bytes, at: index)
            return stops
        }
        if bytes.count >= Self.blockByteCount {
            // The last 64 bytes; the first of them lie before `index`. At the very end all do, and what is shifted does not matter.
            stops.rest =
                Self.stops(in: bytes, at: bytes.count &- Self.blockByteCount)
                &>> UInt64(truncatingIfNeeded: Self.blockByteCount &- here)
        } else {
            var copy = SIMD64<UInt8>(repeating: 0)
            for source in index..<bytes.count { copy[source &- index] = bytes[source] }
            stops.rest = unsafe withUnsafeBytes(of: copy) { unsafe Self.stops(in: Span(_unsafeBytes: $0), at: 0) }
        }
        stops.rest |= UInt64.max &<< UInt64(truncatingIfNeeded: here)
        return stops
    }

    /// Stops among the 64 bytes from `index` on, which are there.
    @inline(__always) private static func stops(in bytes: Span<UInt8>, at index: Int) -> UInt64 {
        unsafe bytes.withUnsafeBufferPointer { unsafe mailboat_json_stops($0.baseAddress! + index) }
    }
}
