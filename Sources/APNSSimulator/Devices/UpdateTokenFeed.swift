/// Update tokens in the order in which apps report them to their servers. An app may report a token some time after the
/// start.
struct UpdateTokenFeed {
    struct Entry {
        /// When the token is reported, milliseconds since 1970.
        var dueMillis: Int64
        /// Index of the token.
        var token: Int32
        /// Index of the start record.
        var start: Int32
    }

    /// The reported tokens, in order.
    private(set) var reported = ChunkedArray<Entry>()
    /// A binary heap of tokens to be reported, earliest first. Tokens with equal times are in the order of their
    /// starts.
    private var waiting: [Entry] = []

    /// Number of tokens, reported or not.
    var count: Int { self.reported.count + self.waiting.count }

    mutating func add(_ entry: Entry) {
        self.waiting.append(entry)
        var child = self.waiting.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard self.isBefore(child, parent) else { return }
            self.waiting.swapAt(child, parent)
            child = parent
        }
    }

    /// Reports the tokens that are due by now.
    mutating func report(nowMillis: Int64) {
        while let first = self.waiting.first, first.dueMillis <= nowMillis {
            self.reported.append(first)
            self.removeFirst()
        }
    }

    private mutating func removeFirst() {
        let last = self.waiting.removeLast()
        guard !self.waiting.isEmpty else { return }
        self.waiting[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [parent * 2 + 1, parent * 2 + 2]
            where child < self.waiting.count && self.isBefore(child, least) {
                least = child
            }
            guard least != parent else { return }
            self.waiting.swapAt(parent, least)
            parent = least
        }
    }

    private func isBefore(_ left: Int, _ right: Int) -> Bool {
        let (left, right) = (self.waiting[left], self.waiting[right])
        return left.dueMillis != right.dueMillis
            ? left.dueMillis < right.dueMillis : (left.start, left.token) < (right.start, right.token)
    }
}
