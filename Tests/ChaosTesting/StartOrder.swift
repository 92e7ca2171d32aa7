import Upstream

extension ChaosAudit {
    /// A `start` as the log has it.
    struct StartOrder {
        var audience: String
        var attributes: [UInt8]
        var position: Position
        var startMillis: Int64
        /// When an `end` was published. `nil` means never.
        var endMillis: Int64?
        /// Contents that the start's cards may show at first.
        var contents: Set<[UInt8]>
    }

    /// Joins and leaves of one token.
    struct StartMember {
        var movements: [(membership: StoryMembership, recordMillis: Int64, appliedMillis: Int64?)] = []

        /// Joins and leaves that concern one audience, in the order of the log. A leave without an audience concerns
        /// all.
        func movements(of audience: String) -> [(isJoin: Bool, recordMillis: Int64, appliedMillis: Int64?)] {
            self.movements.filter { $0.membership.audience == nil || $0.membership.audience == audience }
                .map { ($0.membership.isJoin, $0.recordMillis, $0.appliedMillis) }
        }

        /// Whether the order has to reach this token. The token's last record before the order's end must be a join,
        /// and must have been applied before that end.
        func isDue(_ order: StartOrder) -> Bool {
            let end = order.endMillis ?? .max
            guard let last = self.movements(of: order.audience).last(where: { $0.recordMillis <= end }), last.isJoin,
                let applied = last.appliedMillis
            else { return false }
            return applied < end
        }

        /// Audiences that the token joined at any time.
        var audiences: Set<String> {
            Set(self.movements.filter(\.membership.isJoin).compactMap(\.membership.audience))
        }
    }
}
