/// An array whose elements are named by identifiers of one kind.
struct NumberedArray<ID: Identifier, Element> {
    private var elements: [Element] = []

    init() {}

    var count: Int { self.elements.count }

    /// The identifiers of all elements, in order.
    var identifiers: IdentifierSequence<ID> { IdentifierSequence(count: self.elements.count) }

    @inline(__always) subscript(_ id: ID) -> Element {
        _read { yield self.elements[id.index] }
        _modify { yield &self.elements[id.index] }
    }

    /// Appends an element.
    /// - Returns: the new element's identifier.
    @discardableResult mutating func append(_ element: Element) -> ID {
        self.elements.append(element)
        return ID(index: self.elements.count - 1)
    }

    func firstIdentifier(where isMeant: (Element) -> Bool) -> ID? {
        self.elements.firstIndex(where: isMeant).map { ID(index: $0) }
    }
}

/// The first `count` identifiers of a kind.
struct IdentifierSequence<ID: Identifier>: Sequence, IteratorProtocol {
    private var nextIndex = 0
    private let count: Int

    init(count: Int) { self.count = count }

    mutating func next() -> ID? {
        guard self.nextIndex < self.count else { return nil }
        defer { self.nextIndex += 1 }
        return ID(index: self.nextIndex)
    }
}
