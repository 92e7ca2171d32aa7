import CommandSupport
import KafkaLog
import PushModel
import Upstream

/// Compares what start members got with what was published. Kafka's log, the outcomes and the cards on phones are the
/// evidence.
extension ChaosAudit {
    /// Facts about start members that Kafka's log does not contain.
    struct StartScene {
        /// Pushes to start members that APNs took.
        var starters = ChaosStarters()
        /// Maximum number of starts that a token may be sent in an hour.
        var perHour = 0
        /// Times at which paused workers continued, milliseconds since 1970.
        var resumedMillis: [Int64] = []
        /// Tokens that APNs calls dead.
        var dead: Set<String> = []
        /// Number of partitions of the events topic.
        var partitionCount: Int32 = 1
        /// Whether the run had no faults. Then the records of owners must agree exactly with those of their partitions.
        var isUndisturbed = false
    }

    /// Counts of start members and their cards.
    struct StartCounts: Equatable {
        var audiences = 0
        /// Number of published starts. Second starts of a living audience do not count.
        var orders = 0
        /// Number of tokens that ever joined.
        var tokens = 0
        /// Number of phones on which an order had to put up a card, unless a known reason prevented that. A phone
        /// counts once for each order.
        var checked = 0
        /// Number of start members with one card.
        var started = 0
        /// Number of start members without a card whose start is in doubt: the answer of APNs was lost, or the worker
        /// died.
        var unknown = 0
        /// Number of start members without a card because the start was superseded, had expired or was still waiting.
        var calledOff = 0
        /// Number of start members without a card because their token had reached its maximum of starts in an hour.
        var heldBack = 0
        /// Number of start members that APNs refused, each with a record that says so.
        var refused = 0
        /// Number of all cards, also on phones that left or died.
        var cards = 0
        /// Number of cards on a phone that already had a card of the same order.
        var secondCards = 0
        /// Number of records about a start in one partition.
        var passes = 0
        /// Number of records in `passes` that agree with the phones.
        var passesAgreeing = 0
        /// Number of records about a start of a whole audience.
        var sums = 0
        /// Number of records in `sums` that are the sum of the partitions' records.
        var sumsAgreeing = 0

        /// Number of phones that have a card, or a known reason for having none.
        var accounted: Int { self.started + self.unknown + self.calledOff + self.heldBack + self.refused }
    }

    /// What one partition's phones have got of one order.
    private struct StartPartition {
        /// Number of phones that have a card.
        var reached = 0
        /// Number of phones with a record that says `unknown`.
        var reportedUnknown = 0
        /// Tokens that the order was due to, and that have neither a card of it nor a known reason for having none.
        var unexplained: [String] = []
    }

    private static let hourMillis: Int64 = 3_600_000

    /// Judges that no phone has two cards of one order, and that each phone without a card is accounted for.
    mutating func judgeStarts(_ scene: StartScene, _ logs: Logs) throws {
        guard !scene.starters.cards.isEmpty else { return }
        let orders = self.startOrders(logs.events, scene)
        let members = self.startMembers(logs.events, scene)
        let records = try StartRecords(logs.outcomes)
        self.startCounts.audiences = Set(orders.map(\.audience)).count
        self.startCounts.orders = orders.count
        self.startCounts.tokens = members.count
        self.judgeCards(scene, orders, members)
        self.judgeSums(scene, records)
        for order in orders {
            var partitions: [Int32: StartPartition] = [:]
            for (token, member) in members.sorted(by: { $0.key < $1.key }) {
                let partition = Murmur2.partition(key: Array(token.utf8).span, count: scene.partitionCount)
                let hasCard = scene.starters.cards[token, default: []].contains { $0.attributes == order.attributes }
                let failures = self.failedStarts[order.position]?[Self.tokenHash(token)] ?? []
                if hasCard { partitions[partition, default: StartPartition()].reached += 1 }
                if failures.contains(where: { $0.outcome == "unknown" }) {
                    partitions[partition, default: StartPartition()].reportedUnknown += 1
                }
                guard !scene.dead.contains(token), member.isDue(order) else { continue }
                self.startCounts.checked += 1
                if hasCard {
                    self.startCounts.started += 1
                } else if let failure = failures.first {
                    self.remember(failure, of: token, order)
                } else if self.isHeldBack(order, member, orders, scene) {
                    self.startCounts.heldBack += 1
                } else {
                    partitions[partition, default: StartPartition()].unexplained.append(token)
                }
            }
            self.judgePasses(
                order, partitions, self.passes(of: order, in: records), isUndisturbed: scene.isUndisturbed)
        }
        self.judgeStartHeld(scene, members)
        if scene.starters.strayCount > 0 {
            self.fault("\(scene.starters.strayCount) pushes to push-to-start tokens put up no card")
        }
    }

    // MARK: What was published

    private func startOrders(_ records: [OwnedRecord], _ scene: StartScene) -> [StartOrder] {
        var orders: [StartOrder] = []
        var living: [String: Int] = [:]
        var seen: Set<RecordBytes> = []
        for record in records {
            guard let event = self.publication(of: record)?.event, let audience = event.audience,
                self.startAudiences.contains(audience),
                // A producer writes a record twice if the first acknowledgement is lost. Ends are not compared, because
                // two ends of one audience may have the same bytes.
                event.kind == .end
                    || seen.insert(RecordBytes(key: record.key ?? [], value: record.value ?? [])).inserted
            else { continue }
            let content = event.contentState.map { Array($0.utf8) }
            switch event.kind {
            case .start:
                // A start whose outcomes are all `duplicate` was set aside. No phone may get a card of it, and an `end`
                // ends the earlier start.
                guard self.outcomes(of: record).contains(where: { $0.outcome != "duplicate" }) else { continue }
                living[audience] = orders.count
                orders.append(
                    StartOrder(
                        audience: audience, attributes: Array((event.attributes ?? "").utf8),
                        position: Position(partition: record.partition, offset: record.offset),
                        startMillis: record.timestampMillis, contents: content.map { [$0] } ?? []))
            case .update: if let index = living[audience], let content { orders[index].contents.insert(content) }
            case .end:
                if let index = living.removeValue(forKey: audience) {
                    orders[index].endMillis = record.timestampMillis
                }
            }
        }
        return orders
    }

    private func startMembers(_ records: [OwnedRecord], _ scene: StartScene) -> [String: StartMember] {
        var members: [String: StartMember] = [:]
        for record in records {
            guard let membership = self.publication(of: record)?.membership, scene.starters.knows(membership.token)
            else { continue }
            members[membership.token, default: StartMember()].movements.append(
                (membership, record.timestampMillis, self.outcomes(of: record).map(\.writtenMillis).max()))
        }
        return members
    }

    // MARK: Phones

    private mutating func judgeCards(_ scene: StartScene, _ orders: [StartOrder], _ members: [String: StartMember]) {
        let byAttributes = Dictionary(orders.map { ($0.attributes, $0) }, uniquingKeysWith: { first, _ in first })
        for (token, cards) in scene.starters.cards.sorted(by: { $0.key < $1.key }) {
            self.startCounts.cards += cards.count
            var had: Set<[UInt8]> = []
            for (index, card) in cards.enumerated() {
                let name = "start member \(token.prefix(8))…"
                guard let order = byAttributes[card.attributes] else {
                    self.fault("\(name): a card of no start that was published")
                    continue
                }
                if !had.insert(card.attributes).inserted {
                    self.startCounts.secondCards += 1
                    self.fault("\(name): a second card of one start of \(order.audience), at \(card.atMillis)")
                }
                if !order.contents.contains(card.contentState) {
                    self.fault("\(name): its card of \(order.audience) showed what was not published for it")
                }
                if let left = self.leftBefore(card, order, members[token]), !Self.isExcused(card.atMillis, scene) {
                    self.fault("\(name): it left \(order.audience), and was started \(left) ms later")
                }
                let within = cards[...index].count { card.atMillis - $0.atMillis < Self.hourMillis }
                if within > scene.perHour {
                    self.fault("\(name): \(within) starts in an hour, start.per-hour is \(scene.perHour)")
                }
            }
        }
    }

    /// Time from the applied leave to the card, milliseconds. `nil` means that the token had not left, or that a
    /// request may still have been on its way.
    private func leftBefore(_ card: ChaosStarters.Card, _ order: StartOrder, _ member: StartMember?) -> Int64? {
        guard
            let last = member?.movements(of: order.audience).last(where: { $0.recordMillis <= card.atMillis }),
            !last.isJoin, let applied = last.appliedMillis, card.atMillis > applied + Self.leavingMillisMax
        else { return nil }
        return card.atMillis - applied
    }

    private static func isExcused(_ millis: Int64, _ scene: StartScene) -> Bool {
        scene.resumedMillis.contains { ($0...$0 + BroadcastRules.excusedMillis).contains(millis) }
    }

    /// Counts the record that says why a phone has no card. Every outcome except `unknown` is a fault.
    private mutating func remember(_ failure: EventOutcome, of token: String, _ order: StartOrder) {
        guard failure.outcome != "unknown" else {
            self.startCounts.unknown += 1
            return
        }
        self.startCounts.refused += 1
        self.fault(
            "start member \(token.prefix(8))…: \(failure.outcome) (\(failure.reason ?? "")), and its token is good, of the start of "
                + order.audience)
    }

    /// Whether other starts of the token's audiences, within an hour, reach the maximum for a token.
    private func isHeldBack(
        _ order: StartOrder, _ member: StartMember, _ orders: [StartOrder], _ scene: StartScene
    ) -> Bool {
        let audiences = member.audiences
        let others = orders.count {
            $0.attributes != order.attributes && audiences.contains($0.audience)
                && abs($0.startMillis - order.startMillis) < Self.hourMillis
        }
        return others >= scene.perHour
    }

    // MARK: Records

    /// Counts that partitions reported for an order, by partition, the newest last. The version that brought the order
    /// contains the order's event, or an event that replaced it.
    private func passes(of order: StartOrder, in records: StartRecords) -> [Int32: [StartRecords.Counts]] {
        var versions: Set<Int64> = []
        var open = [order.position]
        var seen: Set<Position> = []
        while let position = open.popLast(), seen.insert(position).inserted {
            for outcome in self.outcomes(at: position) {
                if let version = outcome.version { versions.insert(version) }
                if let into = outcome.into { open.append(into) }
            }
        }
        var found: [Int32: [StartRecords.Counts]] = [:]
        let named = records.passes.filter { $0.key.audience == order.audience && versions.contains($0.key.version) }
        for (_, passes) in named.sorted(by: { ($0.key.life, $0.key.version) < ($1.key.life, $1.key.version) }) {
            for (partition, counts) in passes { found[partition, default: []] += counts }
        }
        return found
    }

    private mutating func judgePasses(
        _ order: StartOrder, _ partitions: [Int32: StartPartition], _ passes: [Int32: [StartRecords.Counts]],
        isUndisturbed: Bool
    ) {
        let name = "the start of \(order.audience) at \(order.startMillis)"
        for (partition, told) in passes.sorted(by: { $0.key < $1.key }) {
            self.startCounts.passes += 1
            let reached = partitions[partition]?.reached ?? 0
            if told.contains(where: { Self.agrees($0, reached: reached, order) }) {
                self.startCounts.passesAgreeing += 1
            } else if let last = told.last {
                self.fault(
                    "\(name), partition \(partition): \(reached) phones have a card, and its record says \(last)")
            }
        }
        // If a worker dies over a start that then ends, the next owner knows nothing to record.
        if order.endMillis == nil || isUndisturbed {
            for (partition, phones) in partitions.sorted(by: { $0.key < $1.key })
            where phones.reached > 0 && passes[partition] == nil {
                self.fault(
                    "\(name), partition \(partition): \(phones.reached) phones have a card, and there is no record of it"
                )
            }
        }
        for (partition, phones) in partitions.sorted(by: { $0.key < $1.key }) where !phones.unexplained.isEmpty {
            let told = passes[partition]?.last
            let count = phones.unexplained.count
            let unknown = min(count, max(0, (told?.unknown ?? 0) - phones.reportedUnknown))
            var calledOff = 0
            if order.endMillis != nil {
                calledOff = min(count - unknown, told.map { $0.superseded + $0.expired + $0.waiting } ?? count)
            }
            self.startCounts.unknown += unknown
            self.startCounts.calledOff += calledOff
            guard count > unknown + calledOff else { continue }
            self.fault(
                "\(name), partition \(partition): \(count - unknown - calledOff) of \(count) phones without a card have no reason, "
                    + "perhaps \(phones.unexplained[0].prefix(8))…; its record says \(told.map { "\($0)" } ?? "nothing")"
            )
        }
    }

    /// Whether the counts agree with the cards. A phone with a card must be counted as accepted or unknown. After an
    /// `end` it may also be counted as waiting, because an answer that arrives later is not counted.
    private static func agrees(_ told: StartRecords.Counts, reached: Int, _ order: StartOrder) -> Bool {
        let isOver = order.endMillis != nil
        return told.isConserved && (isOver || told.waiting == 0) && told.accepted <= reached
            && reached <= told.accepted + told.unknown + (isOver ? told.waiting : 0)
    }

    /// Judges that an audience's owner never reports more than its partitions did. After a takeover the owner may
    /// report less. A partition may report less later, too: its next owner counts starts as unknown that APNs accepted
    /// in the last second before a kill.
    private mutating func judgeSums(_ scene: StartScene, _ records: StartRecords) {
        for (version, sum) in records.sums {
            self.startCounts.sums += 1
            let told = (records.passes[version] ?? [:]).values.compactMap(\.last).reduce(StartRecords.Counts(), +)
            if sum == told { self.startCounts.sumsAgreeing += 1 }
            let name = "the record of \(version.audience) at \(version.version)"
            if !sum.isConserved { self.fault("\(name) is not conserved: \(sum)") }
            let acceptedMax = (records.passes[version] ?? [:]).values
                .map { $0.map(\.accepted).max() ?? 0 }.reduce(0, +)
            if sum.accepted > acceptedMax || (scene.isUndisturbed && sum != told) {
                self.fault("\(name) says \(sum), and its partitions \(told)")
            }
        }
    }

    /// Adds start members to the range of memberships that the workers may hold. Workers also remember members that
    /// have left or died, because of a start that was sent to them.
    private mutating func judgeStartHeld(_ scene: StartScene, _ members: [String: StartMember]) {
        var (certain, possible) = (0, 0)
        for (token, member) in members {
            for audience in member.audiences {
                let isIn = member.movements(of: audience).last?.isJoin == true && !scene.dead.contains(token)
                certain += isIn ? 1 : 0
                possible += 1
            }
        }
        self.memberCounts.held =
            self.memberCounts.held.lowerBound + certain...self.memberCounts.held.upperBound + possible
    }

    /// Hash by which records name a token: FNV-1a of its bytes, in hex.
    static func tokenHash(_ token: String) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        var bytes: [UInt8] = []
        guard Hex.decode(Array(token.utf8).span, to: &bytes) else { return "" }
        for byte in bytes { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01b3 }
        let text = String(hash, radix: 16)
        return String(repeating: "0", count: 16 - text.count) + text
    }
}

extension ChaosAudit.StartCounts {
    /// Lines for the result table of a run.
    var lines: [String] {
        let grouped = NumberText.grouped
        return [
            "starts              \(grouped(self.orders)) of \(grouped(self.audiences)) audiences, \(grouped(self.tokens)) tokens, \(grouped(self.cards)) cards; "
                + "\(grouped(self.started)) of \(grouped(self.checked)) have one",
            "starts without card \(grouped(self.unknown)) unknown, \(grouped(self.calledOff)) called off by an end, \(grouped(self.heldBack)) held back by "
                + "start.per-hour, \(grouped(self.refused)) refused",
            "start records       \(grouped(self.passesAgreeing)) of \(grouped(self.passes)) partitions' agree with the phones; \(grouped(self.sumsAgreeing)) of "
                + "\(grouped(self.sums)) audiences' are the sum of these (after a takeover one may say less)",
        ]
    }
}
