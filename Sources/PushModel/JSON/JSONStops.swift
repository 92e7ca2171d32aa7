import CProcessor

/// Finds the bytes at which runs of plain characters inside strings end, one after the other. It searches 64 bytes at
/// once, and then walks through the result bit by bit. The caller that walks over the text keeps it. The text is passed
/// with each call, and must be the same each time.
struct JSONStops {
    private static var blockByteCount: Int { 64 }

    /// The index of the first byte that was searched last. Each bit of `rest` is one byte.
    private var base = 0
    /// Stops among those bytes that were not returned yet; 0 before the first search. The end of the text, and every
    /// position after it, counts as a stop.
    private var rest: UInt64 = 0

    /// The end of the plain run behind the quote at `quote`: the next stop, or the text's count. Strings are asked for
    /// in order. After white space between them, call `dropping`.
    @inline(__always) mutating func next(after quote: Int, in bytes: Span<UInt8>) -> Int {
        if self.rest == 0 { self = Self.from(quote, in: bytes) }
        // The quote itself is a stop.
        self.rest &= self.rest &- 1
        while self.rest == 0 { self = Self.from(self.base &+ Self.blockByteCount, in: bytes) }
        let stop = self.base &+ self.rest.trailingZeroBitCount
        self.rest &= self.rest &- 1
        return stop
    }

    /// Drops the stops before `index`, where no string is: line ends and tabs are stops, too.
    @inline(never) consuming func dropping(before index: Int) -> JSONStops {
        while self.rest != 0, self.base &+ self.rest.trailingZeroBitCount < index { self.rest &= self.rest &- 1 }
        return self
    }

    /// The stops among the 64 bytes from `index` on. `index` is not negative and not past the text's count.
    @inline(never) static func from(_ index: Int, in bytes: Span<UInt8>) -> JSONStops {
        var stops = JSONStops()
        stops.base = index
        let here = bytes.count &- index
        if here >= Self.blockByteCount {
            stops.rest = Self.stops(in: bytes, at: index)
            return stops
        }
        if bytes.count >= Self.blockByteCount {
            // The last 64 bytes. The first of them are before `index`, and at the very end all of them are. The shift
            // then has no effect.
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

    /// Stops among the 64 bytes from `index` on, which must all be present.
    @inline(__always) private static func stops(in bytes: Span<UInt8>, at index: Int) -> UInt64 {
        unsafe bytes.withUnsafeBufferPointer { unsafe mailboat_json_stops($0.baseAddress! + index) }
    }
}
