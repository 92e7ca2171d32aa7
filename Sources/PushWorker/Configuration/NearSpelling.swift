/// Finds the name that was most likely meant by a misspelt one.
package enum NearSpelling {
    /// The candidate that differs from `name` by the fewest edits; `nil` when even that one differs by too many.
    package static func of(_ name: String, among candidates: [String]) -> String? {
        let limit = max(1, min(3, name.count / 4))
        var best: (name: String, distance: Int)?
        for candidate in candidates {
            let distance = Self.distance(Array(name.lowercased()), Array(candidate.lowercased()))
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        if let best { return best.name }
        // Often only the last word is right, as in `budget.hourly.per-hour`, or the name lacks its group.
        let word = name.split(separator: ".").last.map(String.init) ?? name
        let sameWord = candidates.filter { $0.split(separator: ".").last.map(String.init) == word }
        return sameWord.count == 1 ? sameWord[0] : nil
    }

    /// Number of insertions, deletions, replacements and swaps of neighbours (optimal string alignment).
    static func distance(_ left: [Character], _ right: [Character]) -> Int {
        var before: [Int] = []
        var row = Array(0...right.count)
        for i in left.indices {
            var next = [i + 1]
            for j in right.indices {
                var cost = min(row[j + 1] + 1, next[j] + 1, row[j] + (left[i] == right[j] ? 0 : 1))
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    cost = min(cost, before[j - 1] + 1)
                }
                next.append(cost)
            }
            before = row
            row = next
        }
        return row[right.count]
    }
}
