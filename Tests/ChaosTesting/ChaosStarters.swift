import DeviceModel

/// Collects what the simulator's journal says about start members: which cards came up on each phone, and by which
/// start.
struct ChaosStarters {
    /// A card that a push brought.
    struct Card: Equatable {
        /// `attributes` of the start that brought the card. No two starts have the same attributes.
        var attributes: [UInt8]
        var atMillis: Int64
        /// What the card showed at first.
        var contentState: [UInt8]
    }

    /// Cards by token, in hex.
    private(set) var cards: [String: [Card]] = [:]
    private(set) var pushCount = 0
    /// Number of pushes to start members that put up no card. They are not valid starts: for example, the alert is
    /// missing.
    private(set) var strayCount = 0

    /// Registers a push-to-start token, before anything is pushed to it.
    mutating func know(token: String) { if self.cards[token] == nil { self.cards[token] = [] } }

    func knows(_ token: String) -> Bool { self.cards[token] != nil }

    /// Counts a push that APNs accepted.
    /// - Returns: `false` when the token is not a start member's.
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
