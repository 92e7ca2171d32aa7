import DeviceModel

/// The members of an audience as a field of pixels: one character a member, which names a row of a table.
///
/// The table has one row for each way to stand and each stamp shown, the newest first. So ten thousand members take ten kilobytes, and the page
/// colours them by the clock without asking again.
public struct AudienceField: Equatable, Sendable {
    /// How a member stands.
    public enum State: String, Sendable {
        /// Nothing is shown yet.
        case none
        /// As `Shown.Card` has it.
        case active, stale, ended, dismissed
        /// It has left, or APNs refuses its token.
        case gone
    }

    /// How members of one row stand.
    public struct Row: Hashable, Sendable {
        /// How they stand.
        public var state: State
        /// `true`: the phone is away.
        public var isAway: Bool
        /// The stamp of what is shown, seconds since 1970; `nil`: nothing is.
        public var stampSeconds: Int64?
    }

    /// Most rows of the table. A phone that shows something older than the last row is drawn as that row.
    public static let rowsMax = 60
    /// Without hexadecimal digits: a row of members that stand alike is no device token, and shall not be taken for one.
    static let alphabet = Array("ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ!$%()*+,-.:;=?@[]^_{|}~".utf8)

    /// Newest first.
    public let rows: [Row]
    /// A character for each member, in the order in which they joined.
    public let cells: String

    /// - Parameter members: at most `SimulatedAudiences.Limits.membersMax`.
    public init(_ members: [SimulatedAudience.Member]) {
        // Most members stand as the one before.
        var known: Set<Row> = []
        var last: Row?
        for member in members {
            let row = Self.row(member)
            if row != last { known.insert(row) }
            last = row
        }
        let rows = known.sorted { Self.rank($0) > Self.rank($1) }.prefix(Self.rowsMax)
        let places = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($0.element, $0.offset) })
        var cells: [UInt8] = []
        cells.reserveCapacity(members.count)
        var cell = Self.alphabet[0]
        last = nil
        for member in members {
            let row = Self.row(member)
            if row != last { cell = Self.alphabet[places[row] ?? rows.count - 1] }
            last = row
            cells.append(cell)
        }
        self.rows = Array(rows)
        self.cells = String(decoding: cells, as: UTF8.self)
    }

    private static func row(_ member: SimulatedAudience.Member) -> Row {
        guard !member.hasLeft else { return Row(state: .gone, isAway: false, stampSeconds: nil) }
        guard let glance = member.glance else { return Row(state: .none, isAway: false, stampSeconds: nil) }
        guard glance.isTokenAlive || glance.card == .ended || glance.card == .dismissed else {
            return Row(state: .gone, isAway: false, stampSeconds: nil)
        }
        let state: State =
            switch glance.card {
            case .untouched: .none
            case .active: .active
            case .stale: .stale
            case .ended: .ended
            case .dismissed: .dismissed
            }
        return Row(state: state, isAway: !glance.isOnline, stampSeconds: glance.stampSeconds)
    }

    private static func rank(_ row: Row) -> (Int64, String, Int) {
        // Rows without a stamp are few; they come first, so that none of them is lost.
        (row.stampSeconds ?? .max, row.state.rawValue, row.isAway ? 1 : 0)
    }
}

extension AudienceField {
    /// For the page and the API.
    public var json: JSONTree {
        [
            "rows": .array(
                self.rows.map { row in
                    [
                        "state": .string(row.state.rawValue), "away": .bool(row.isAway),
                        "stamp": row.stampSeconds.map { .integer($0) } ?? .null,
                    ]
                }),
            "cells": .string(self.cells),
        ]
    }
}
