/// Finds the name that was probably meant by a misspelt one. It is used only for rejections.
enum FieldSuggestion {
    /// Maximum number of bytes of a name that is compared.
    static let byteCountMax = 48

    /// The element of `names` that is most similar to `name`; `nil` if none is similar. Capitals and underscores make
    /// no difference. At most two slips are allowed, and fewer in a short name.
    static func nearest(to name: [UInt8], among names: [StaticString]) -> StaticString? {
        guard !name.isEmpty, name.count <= Self.byteCountMax else { return nil }
        let folded = Self.folded(name)
        var best: (name: StaticString, slips: Int)?
        for candidate in names {
            let slips = Self.slips(folded, Array("\(candidate)".utf8))
            // A short name is similar to many others, so at most a third of its characters may differ.
            guard slips <= min(2, candidate.utf8CodeUnitCount / 3), slips < best?.slips ?? .max else { continue }
            best = (candidate, slips)
        }
        return best?.name
    }

    /// The name in kebab case: `contentState` and `content_state` as `content-state`.
    static func folded(_ name: [UInt8]) -> [UInt8] {
        var folded: [UInt8] = []
        for byte in name {
            switch byte {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"):
                if let last = folded.last, last != UInt8(ascii: "-") { folded.append(UInt8(ascii: "-")) }
                folded.append(byte | 0x20)
            case UInt8(ascii: "_"), UInt8(ascii: " "), UInt8(ascii: "."): folded.append(UInt8(ascii: "-"))
            default: folded.append(byte)
            }
        }
        return folded
    }

    /// Number of slips that turn one name into the other: insertions, deletions, replacements and swaps of neighbours
    /// (optimal string alignment).
    static func slips(_ left: [UInt8], _ right: [UInt8]) -> Int {
        var (before, previous) = ([Int](), Array(0...right.count))
        for (row, byte) in left.enumerated() {
            var current = [row + 1]
            for (column, other) in right.enumerated() {
                var least = min(
                    previous[column + 1] + 1, current[column] + 1, previous[column] + (byte == other ? 0 : 1))
                if row > 0, column > 0, byte == right[column - 1], left[row - 1] == other {
                    least = min(least, before[column - 1] + 1)
                }
                current.append(least)
            }
            (before, previous) = (previous, current)
        }
        return previous[right.count]
    }
}
