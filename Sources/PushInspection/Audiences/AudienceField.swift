import DeviceModel

/// The members of an audience as a field of pixels. Each member is one character, which names a row of a table.
///
/// The table has one row for each combination of state, stamp shown, and online or offline, the newest first. Ten
/// thousand members therefore take ten kilobytes. The page colours them by the clock without asking again.
public struct AudienceField: Equatable, Sendable {
    /// State of a member.
    public enum State: String, Sendable {
        /// The member shows nothing yet.
        case none
        /// States of a card, as in `Shown.Card`.
        case active, stale, ended, dismissed
        /// The member has left, or APNs refuses its token although its card is neither ended nor dismissed.
        case gone
    }

    /// What members of one row have in common.
    public struct Row: Hashable, Sendable {
        /// State of the members.
        public var state: State
        /// Whether the phone is offline.
        public var isAway: Bool
        /// The stamp of what is shown, seconds since 1970; `nil`: nothing is shown.
        public var stampSeconds: Int64?
    }

    /// Maximum number of rows of the table. A phone that shows something older than the last row is drawn as that row.
    public static let rowsMax = 60
    /// Characters that name rows. None is a hexadecimal digit, so no sequence of members looks like a device token.
    static let alphabet = Array("ghijklmnopqrstuvwxyzGHIJKLMNOPQRSTUVWXYZ!$%()*+,-.:;=?@[]^_{|}~".utf8)

    /// The table's rows, newest first.
    public let rows: [Row]
    /// One character for each member, in the order in which they joined.
    public let cells: String

    /// Draws members.
    /// - Parameter members: at most `SimulatedAudiences.Limits.membersMax`.
    public init(_ members: [SimulatedAudience.Member]) {
        // Most members have the row of the member before.
        var known: Set<Row> = []
        var last: Row?
        for member in members {
            let row = Self.row(member)
            if row != last { known.insert(row) }
            last = row
        }
        let rows = known.sorted { Self.rank($0) > Self.rank($1) }.prefix(Self.rowsMax)
        let indexes = Dictionary(uniqueKeysWithValues: rows.enumerated().map { ($0.element, $0.offset) })
        var cells: [UInt8] = []
        cells.reserveCapacity(members.count)
        var cell = Self.alphabet[0]
        last = nil
        for member in members {
            let row = Self.row(member)
            if row != last { cell = Self.alphabet[indexes[row] ?? rows.count - 1] }
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
        // Rows without a stamp are few. They come first, so that `rowsMax` cuts off none of them.
        (row.stampSeconds ?? .max, row.state.rawValue, row.isAway ? 1 : 0)
    }
}

extension AudienceField {
    /// The field as JSON for the page and the API.
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
