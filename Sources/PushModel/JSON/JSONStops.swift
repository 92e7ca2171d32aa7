import CProcessor

/// Finds the ends of runs of plain characters in strings, one after the other. It searches 64 bytes at once, and then
/// returns its findings one by one. The code that walks over the text keeps an instance. It passes the text with each
/// call, and must always pass the same one.
struct JSONStops {
    private static var blockByteCount: Int { 64 }

    /// The index of the first of the 64 bytes that were searched last. Each bit of `rest` stands for one of them.
    private var base = 0
    /// The stops that were found and not returned yet; 0 before the first search. The end of the text, and every
    /// position after it, counts as a stop.
    private var rest: UInt64 = 0

    /// The end of the plain run after the quote at `quote`: the next stop, or the text's count. Call it for strings in
    /// their order. Call `dropping` after white space between strings.
    @inline(__always) mutating func next(after quote: Int, in bytes: Span<UInt8>) -> Int {
        if self.rest == 0 { self = Self.from(quote, in: bytes) }
        // The quote itself is a stop.
        self.rest &= self.rest &- 1
        while self.rest == 0 { self = Self.from(self.base &+ Self.blockByteCount, in: bytes) }
        let stop = self.base &+ self.rest.trailingZeroBitCount
        self.rest &= self.rest &- 1
        return stop
    }

    /// Drops all stops before `index`, which must be the end of white space outside strings. The dropped stops are line
    /// ends and tabs in that white space.
    @inline(never) consuming func dropping(before index: Int) -> JSONStops {
        while self.rest != 0, self.base &+ self.rest.trailingZeroBitCount < index { self.rest &= self.rest &- 1 }
        return self
    }

    /// The stops among the 64 bytes from `index` on. `index` must be from 0 to the text's count.
    @inline(never) static func from(_ index: Int, in bytes: Span<UInt8>) -> JSONStops {
        var stops = JSONStops()
        stops.base = index
        let here = bytes.count &- index
        if here >= Self.blockByteCount {
            stops.rest = Self.stops(in: bytes, at: index)
            return stops
        }
        if bytes.count >= Self.blockByteCount {
            // The last 64 bytes of the text are searched, and those before `index` are shifted out. If `index` is the
            // text's end, the shift has no effect, but the last statement of this function sets all bits.
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

    /// The stops among the 64 bytes from `index` on. The text must have all of them.
    @inline(__always) private static func stops(in bytes: Span<UInt8>, at index: Int) -> UInt64 {
        unsafe bytes.withUnsafeBufferPointer { unsafe mailboat_json_stops($0.baseAddress! + index) }
    }
}
