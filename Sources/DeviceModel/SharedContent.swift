/// What a card shows, as one object for all phones that show the same.
final class CardContent: Sendable {
    /// The bytes of the `content-state`.
    let contentState: [UInt8]
    /// The newest stamp applied, seconds since 1970.
    let stampSeconds: Int64
    /// Stale date, seconds since 1970; `Int64.min` for none.
    let staleDate: Int64
    /// Dismissal date, seconds since 1970; `Int64.min` for none.
    let dismissalDate: Int64
    /// Relevance score; not a number if there is none.
    let relevance: Double
    /// Hash of the `content-state`.
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
    /// The newest alerts, oldest first.
    let newest: [[UInt8]]
    /// Number of all alerts shown.
    let count: UInt32
    /// Hash of all alerts shown, in their order.
    let hash: UInt64

    init(newest: [[UInt8]], count: UInt32, hash: UInt64) {
        self.newest = newest
        self.count = count
        self.hash = hash
    }
}

/// The part of a `start` that no update can change, as one object for all phones that were started with the same.
final class CardOrigin: Sendable {
    let attributesType: [UInt8]
    let attributes: [UInt8]
    /// Hash of attributes and their type.
    let hash: UInt64

    init(attributesType: [UInt8], attributes: [UInt8], hash: UInt64) {
        self.attributesType = attributesType
        self.attributes = attributes
        self.hash = hash
    }
}
