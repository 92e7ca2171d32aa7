import DeviceModel

/// What the simulator's journal tells of start members: which cards came up on each phone, and by which start.
struct ChaosStarters {
    /// A push that brought a card.
    struct Card: Equatable {
        /// `attributes` of the start that brought it: no two starts have the same.
        var attributes: [UInt8]
        var atMillis: Int64
        /// What it showed at first.
        var contentState: [UInt8]
    }

    /// By token, in hex.
    private(set) var cards: [String: [Card]] = [:]
    private(set) var pushCount = 0
    /// Pushes to start members that put up no card: no start, or one that a phone makes nothing of, as without an alert.
    private(set) var strayCount = 0

    /// Tells of a push-to-start token, before anything is pushed to it.
    mutating func know(token: String) { if self.cards[token] == nil { self.cards[token] = [] } }

    func knows(_ token: String) -> Bool { self.cards[token] != nil }

    /// Takes a push that APNs took.
    /// - Returns: `false`: it was to nobody's start member.
    mutating func take(token: String, atMillis: Int64, body: [UInt8]) -> Bool {
        guard self.knows(token) else { return false }
        self.pushCount += 1
        guard let content = try? PayloadReader.read(body.span), content.event == .start else {
            self.strayCount += 1
            return true
        }
        self.cards[token]?.append(
            Card(
                attributes: Array(body[content.attributes]), atMillis: atMillis,
                contentState: Array(body[content.contentState])))
        return true
    }
}
