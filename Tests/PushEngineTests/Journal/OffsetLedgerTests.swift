import PushModel
import Testing

@testable import PushEngine

@Suite struct OffsetLedgerTests {
    /// A slow model of what a log's watermark must be.
    private struct LogModel {
        var number: LogID
        var topic: UInt16
        var nextOffset: Int64
        var committed: Int64
        var open: [EntryID: (offset: Int64, isSettled: Bool, outstanding: Int)] = [:]
        var watermark: Int64 { self.open.values.map(\.offset).min() ?? self.nextOffset }
        mutating func closeIfResolved(_ id: EntryID) {
            if let entry = self.open[id], entry.isSettled, entry.outstanding == 0 { self.open[id] = nil }
        }
    }

    /// Sorts the entries, so that every run has one order.
    private static func sorted(_ ids: some Sequence<EntryID>) -> [EntryID] { ids.sorted { $0.rawValue < $1.rawValue } }

    /// Commits never pass an unresolved offset, in whatever order settlements and acknowledgements arrive. Several logs
    /// are opened and closed while entries are open.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func commitsFollowTheLowestUnresolvedOffset(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var ledger = OffsetLedger()
        var logs: [LogModel] = []
        var topics: UInt16 = 0
        func openLog() -> LogModel {
            topics += 1
            let start = Int64.random(in: 0...1_000_000, using: &random)
            let number = ledger.openLog(topic: topics, partition: 3, startOffset: start)
            return LogModel(number: number, topic: topics, nextOffset: start, committed: start)
        }
        for _ in 0..<3 { logs.append(openLog()) }
        for _ in 0..<1_500 {
            let at = Int.random(in: 0..<logs.count, using: &random)
            let number = logs[at].number
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<45:
                // Consumes a record, with gaps as compaction and control records leave them. Some records open an
                // entry.
                let offset =
                    logs[at].nextOffset + (Bool.random(using: &random) ? 0 : Int64.random(in: 0...3, using: &random))
                ledger.consumed(log: number, offset: offset)
                logs[at].nextOffset = offset + 1
                guard Int.random(in: 0..<3, using: &random) > 0 else { break }
                let isSettled = Bool.random(using: &random)
                let id = ledger.open(log: number, offset: offset, settled: isSettled)
                #expect(ledger.log(of: id) == number)
                var outstanding = 0
                // A settled entry without a record to wait for would never close. The engine never opens one.
                for _ in 0..<Int.random(in: (isSettled ? 1 : 0)...2, using: &random) {
                    ledger.expectAcknowledgement(id)
                    outstanding += 1
                }
                logs[at].open[id] = (offset, isSettled, outstanding)
            case 45..<70:
                guard
                    let id = Self.sorted(logs[at].open.filter { !$0.value.isSettled }.keys).randomElement(
                        using: &random)
                else { break }
                ledger.settle(id)
                logs[at].open[id]!.isSettled = true
                logs[at].closeIfResolved(id)
            case 70..<97:
                guard
                    let id = Self.sorted(logs[at].open.filter { $0.value.outstanding > 0 }.keys).randomElement(
                        using: &random)
                else { break }
                ledger.acknowledged(id)
                logs[at].open[id]!.outstanding -= 1
                logs[at].closeIfResolved(id)
            default:
                ledger.closeLog(number)
                logs[at] = openLog()
            }
            #expect(ledger.openCount == logs.reduce(0) { $0 + $1.open.count })
            for log in logs { #expect(ledger.watermark(log: log.number) == log.watermark) }
            guard Int.random(in: 0..<4, using: &random) == 0 else { continue }
            var taken: [UInt16: Int64] = [:]
            ledger.takeAdvanced(nowMillis: 0) { taken[$0.topic] = $0.nextOffset }
            for index in logs.indices {
                let moved = logs[index].watermark > logs[index].committed
                #expect(taken[logs[index].topic] == (moved ? logs[index].watermark : nil))
                logs[index].committed = max(logs[index].committed, logs[index].watermark)
            }
            #expect(taken.count <= logs.count, "a closed log commits nothing")
        }
    }

    @Test func anEntryResolvesWhenSettledAndAcknowledgedInEitherOrder() {
        for settlesFirst in [true, false] {
            var ledger = OffsetLedger()
            let log = ledger.openLog(topic: 0, partition: 0, startOffset: 10)
            ledger.consumed(log: log, offset: 10)
            let id = ledger.open(log: log, offset: 10)
            ledger.expectAcknowledgement(id)
            ledger.expectAcknowledgement(id)
            if settlesFirst { ledger.settle(id) }
            ledger.acknowledged(id)
            #expect(ledger.watermark(log: log) == 10)
            ledger.acknowledged(id)
            if !settlesFirst {
                #expect(ledger.watermark(log: log) == 10)
                ledger.settle(id)
            }
            #expect(ledger.watermark(log: log) == 11)
            #expect(ledger.openCount == 0)
        }
    }

    @Test func consumingWithoutAnEntryIsResolved() {
        var ledger = OffsetLedger()
        let log = ledger.openLog(topic: 4, partition: 9, startOffset: 5)
        ledger.consumed(log: log, offset: 8)
        var commits: [CommitPosition] = []
        ledger.takeAdvanced(nowMillis: 0) { commits.append($0) }
        #expect(commits == [CommitPosition(topic: 4, partition: 9, nextOffset: 9)])
        ledger.takeAdvanced(nowMillis: 0) { _ in Issue.record("nothing has moved since") }
    }

    /// Later events of a busy slot have greater offsets than its entry, and take no memory in the ledger.
    @Test func memoryIsBoundedByOpenEntries() {
        var ledger = OffsetLedger()
        let log = ledger.openLog(topic: 0, partition: 0, startOffset: 0)
        var open: [EntryID] = []
        var ids: Set<EntryID> = []
        for offset in Int64(0)..<10_000 {
            ledger.consumed(log: log, offset: offset)
            open.append(ledger.open(log: log, offset: offset))
            ids.insert(open.last!)
            if open.count > 8 { ledger.settle(open.removeFirst()) }
        }
        #expect(ids.count <= 9, "places are used again")
        #expect(ledger.watermark(log: log) == 9_992)
    }

    /// An offset counts as committed some time after it was handed to Kafka, even if later offsets have followed since.
    @Test func whatWasHandedOnLongEnoughAgoHasPassed() {
        var ledger = OffsetLedger()
        let log = ledger.openLog(topic: 0, partition: 0, startOffset: 10)
        let wait = OffsetLedger.commitMillisMax
        #expect(ledger.passedOffset(log: log, nowMillis: 0) == 10)
        func commit(_ offset: Int64, atMillis now: Int64) {
            ledger.consumed(log: log, offset: offset)
            ledger.takeAdvanced(nowMillis: now) { _ in }
        }
        // Commits follow one another without a pause. The passed offset follows them, and is never too new.
        var offsets: [Int64: Int64] = [:]
        for now in stride(from: Int64(0), to: 10 * wait, by: 100) {
            commit(10 + now / 100, atMillis: now)
            offsets[now] = 11 + now / 100
            let passed = ledger.passedOffset(log: log, nowMillis: now)
            #expect(passed <= offsets[now - wait] ?? 10 && passed >= offsets[now - 2 * wait - 100] ?? 10)
        }
        commit(900, atMillis: 10 * wait)
        #expect(ledger.passedOffset(log: log, nowMillis: 11 * wait - 1) < 901)
        #expect(ledger.passedOffset(log: log, nowMillis: 11 * wait) == 901)
        commit(1_000, atMillis: 20 * wait)
        #expect(ledger.passedOffset(log: log, nowMillis: 20 * wait) == 901)
    }
}
