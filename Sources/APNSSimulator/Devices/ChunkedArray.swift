/// An array that grows by pieces of 4,096 elements. Nothing is copied when it grows, and only the last piece can have
/// unused memory.
struct ChunkedArray<Element> {
    private static var chunkCountLog2: Int { 12 }
    private static var chunkCount: Int { 1 << Self.chunkCountLog2 }

    private var chunks: [[Element]] = []
    private(set) var count = 0

    subscript(index: Int) -> Element {
        get { self.chunks[index >> Self.chunkCountLog2][index & (Self.chunkCount - 1)] }
        _modify { yield &self.chunks[index >> Self.chunkCountLog2][index & (Self.chunkCount - 1)] }
    }

    mutating func append(_ element: Element) {
        if self.count & (Self.chunkCount - 1) == 0 {
            self.chunks.append([])
            self.chunks[self.chunks.count - 1].reserveCapacity(Self.chunkCount)
        }
        self.chunks[self.chunks.count - 1].append(element)
        self.count += 1
    }
}

extension ChunkedArray: Sendable where Element: Sendable {}
