/// Answers that wait for their time, earliest first. Answers with equal times keep the order in which they were added.
/// The type is a binary heap that keeps its memory.
struct DelayedAnswers {
    private struct Waiting {
        var dueNanos: UInt64
        var order: UInt64
        var answer: Answer

        func isBefore(_ other: Waiting) -> Bool {
            self.dueNanos != other.dueNanos ? self.dueNanos < other.dueNanos : self.order < other.order
        }
    }

    private var heap: [Waiting] = []
    private var added: UInt64 = 0

    var count: Int { self.heap.count }

    /// Tokens that the answers are about, as indices.
    var tokens: [Int32] { self.heap.lazy.map(\.answer.token).filter { $0 >= 0 } }

    /// When the next answer is due, on the clock that `add` uses.
    var nextDueNanos: UInt64? { self.heap.first?.dueNanos }

    mutating func add(_ answer: Answer, dueNanos: UInt64) {
        self.heap.append(Waiting(dueNanos: dueNanos, order: self.added, answer: answer))
        self.added &+= 1
        var child = self.heap.count - 1
        while child > 0 {
            let parent = (child - 1) / 2
            guard self.heap[child].isBefore(self.heap[parent]) else { return }
            self.heap.swapAt(child, parent)
            child = parent
        }
    }

    /// The next answer that is due, if any.
    mutating func take(nowNanos: UInt64) -> Answer? {
        guard let first = self.heap.first, first.dueNanos <= nowNanos else { return nil }
        let last = self.heap.removeLast()
        guard !self.heap.isEmpty else { return first.answer }
        self.heap[0] = last
        var parent = 0
        while true {
            var least = parent
            for child in [parent * 2 + 1, parent * 2 + 2]
            where child < self.heap.count && self.heap[child].isBefore(self.heap[least]) {
                least = child
            }
            guard least != parent else { return first.answer }
            self.heap.swapAt(parent, least)
            parent = least
        }
    }
}
