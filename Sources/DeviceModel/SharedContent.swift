/// What a card shows, as one object for all phones that show the same.
final class CardContent: Sendable {
    /// The bytes of the `content-state`.
    let contentState: [UInt8]
    /// The newest stamp applied, seconds since 1970.
    let stampSeconds: Int64
    /// Seconds since 1970; `Int64.min`: none.
    let staleDate: Int64
    /// Seconds since 1970; `Int64.min`: none.
    let dismissalDate: Int64
    /// Not a number: none.
    let relevance: Double
    /// Names the `content-state`.
    let hash: UInt64

    init(
        contentState: [UInt8], stampSeconds: Int64, staleDate: Int64, dismissalDate: Int64, relevance: Double,
        hash: UInt64
    ) {
        self.contentState = contentState
        self.stampSeconds = stampSeconds
        self.staleDate = staleDate
        self.dismissalDate = dismissalDate
        self.relevance = relevance
        self.hash = hash
    }
}

/// The alerts that a card has shown, as one object for all phones that have shown the same ones in the same order.
final class ShownAlerts: Sendable {
    /// The newest ones, oldest first.
    let newest: [[UInt8]]
    /// All that were shown.
    let count: UInt32
    /// Names all that were shown, and their order.
    let hash: UInt64

    init(newest: [[UInt8]], count: UInt32, hash: UInt64) {
        self.newest = newest
        self.count = count
        self.hash = hash
    }
}

/// What a `start` says that no update can change, as one object for all phones that were started with the same.
final class CardOrigin: Sendable {
    let attributesType: [UInt8]
    let attributes: [UInt8]
    /// Names both.
    let hash: UInt64

    init(attributesType: [UInt8], attributes: [UInt8], hash: UInt64) {
        self.attributesType = attributesType
        self.attributes = attributes
        self.hash = hash
    }
}
