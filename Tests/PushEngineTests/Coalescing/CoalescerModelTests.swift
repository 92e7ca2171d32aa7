import PushModel
import Testing

@testable import PushEngine

/// Compares the coalescer with simple models.
@Suite struct CoalescerModelTests {
    /// A phone that gets every event in the order of arrival. It ignores an event that is older than the one it shows,
    /// together with that event's alert.
    private struct Phone {
        var seconds = Int64.min
        var content: Int64 = 0
        var alert = ""
        var alertSeconds = Int64.min

        mutating func show(_ event: Int64, at seconds: Int64, alert: String) {
            guard seconds >= self.seconds else { return }
            self.seconds = seconds
            self.content = event
            guard !alert.isEmpty else { return }
            (self.alert, self.alertSeconds) = (alert, seconds)
        }

        /// Removes the alert if it is not newer than the withdrawal.
        mutating func withdraw(at seconds: Int64) {
            if self.alertSeconds <= seconds { self.alert = "" }
        }
    }

    /// One push of the coalescer shows what all events together would have shown. It makes no difference whether the
    /// coalescer takes shorter ways.
    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func onePushShowsWhatAllWouldHave(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let bench = CoalescerBench(
            takesShorterWays: seed.isMultiple(of: 2), publication: seed.isMultiple(of: 2) ? .pushes : .all)
        var phone = Phone()
        for number in 1...40 {
            let seconds = Int64.random(in: 0...30, using: &random)
            let alert = Int.random(in: 0..<4, using: &random) == 0 ? "alert \(number)" : ""
            let event = bench.take(at: seconds, alert: alert)
            phone.show(event, at: seconds, alert: alert)
            // Now and then an attempt fails, which must not change what is shown.
            if Int.random(in: 0..<5, using: &random) == 0, bench.send() {
                for came in 0..<Int.random(in: 0...2, using: &random) {
                    let seconds = Int64.random(in: 0...30, using: &random)
                    let alert = Bool.random(using: &random) ? "meanwhile \(came)" : ""
                    let event = bench.take(at: seconds, alert: alert)
                    phone.show(event, at: seconds, alert: alert)
                }
                bench.requeue()
            }
            #expect(bench.pending?.contentNumber == phone.content)
            #expect(bench.pending?.alertText == phone.alert)
            #expect(bench.heldCount == 1 && bench.updateCount == 1)
        }
        #expect(bench.counters.count(.superseded) + UInt64(bench.ended.count) + 1 == UInt64(bench.takenCount))
    }

    /// Some events withdraw alerts. The pushes say what all events would have said without the withdrawn alerts. Large
    /// contents and large alerts make two updates that follow one another.
    @Test(arguments: 1...150 as ClosedRange<UInt64>)
    func aWithdrawnAlertIsNotSaid(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
        let bench = CoalescerBench(
            takesShorterWays: seed.isMultiple(of: 2), publication: seed.isMultiple(of: 2) ? .pushes : .all)
        let isLarge = seed.isMultiple(of: 3)
        var phone = Phone()
        func take() {
            // Timestamps grow with the number of events. Otherwise hardly any event would be newer than the ones before
            // it.
            let seconds = bench.takenCount / 3 + Int64(int(0...8))
            let kind = int(0...5)
            let filler = isLarge && int(0...2) == 0 ? String(repeating: "A", count: 1_500) : ""
            let alert = kind == 0 ? "alert \(bench.takenCount)\(filler)" : ""
            if kind == 1 {
                phone.withdraw(at: seconds)
            }
            let event = bench.take(
                at: seconds, alert: alert, padding: isLarge && alert.isEmpty && int(0...2) == 0 ? 3_000 : 0,
                withdrawsAlert: kind == 1)
            phone.show(event, at: seconds, alert: alert)
        }
        for _ in 1...60 {
            take()
            if int(0...4) == 0, bench.send() {
                for _ in 0..<int(0...3) { take() }
                bench.requeue()
            }
            let newest = bench.behind ?? bench.pending
            #expect(newest?.contentNumber == phone.content)
            let said = [bench.pending, bench.behind].compactMap { $0?.alertText }.filter { !$0.isEmpty }
            #expect(said == (phone.alert.isEmpty ? [] : [phone.alert]))
            #expect(bench.behind == nil || !said.isEmpty, "two updates for one alert only")
            #expect(bench.updateCount == bench.heldCount)
        }
        let held = UInt64(bench.eventCount(of: bench.slot))
        #expect(bench.counters.count(.superseded) + UInt64(bench.ended.count) + held == UInt64(bench.takenCount))
    }

    /// The newest event that has not expired is shown, whatever expires in between. The test takes only as many events
    /// as one update can hold.
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func theNewestThatHasNotExpiredIsShown(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let bench = CoalescerBench()
        var events: [(number: Int64, seconds: Int64, expiresMillis: Int64)] = []
        for _ in 0..<Update.underMax + 1 {
            bench.expire()
            let seconds = Int64.random(in: 0...9, using: &random)
            let expires = Int64.random(in: 1...40, using: &random)
            let expiresMillis = (bench.now.wallSeconds + expires) * 1_000
            events.append((bench.take(at: seconds, expires: expires), seconds, expiresMillis))
            bench.advance(.random(in: 0...8_000, using: &random))
        }
        for _ in 0..<45 {
            bench.expire()
            let alive = events.filter { $0.expiresMillis / 1_000 > bench.now.wallSeconds }
            let newest = alive.max { ($0.seconds, $0.number) < ($1.seconds, $1.number) }
            #expect(bench.pending?.contentNumber == newest?.number)
            bench.advance(1_000)
        }
        #expect(bench.heldCount == 0 && Set(bench.ended.map(\.event)) == Set(events.map(\.number)))
    }

    /// A start arrives among updates that expire. The card shows the newest event that has not expired, and always has
    /// an alert. The start itself is never given up.
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func aStartShowsTheNewestThatHasNotExpired(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let bench = CoalescerBench()
        var events: [(number: Int64, seconds: Int64, expiresMillis: Int64)] = []
        let startNumber = Int.random(in: 0...Update.underMax, using: &random)
        for number in 0...Update.underMax {
            bench.expire()
            let seconds = Int64.random(in: 0...9, using: &random)
            guard number != startNumber else {
                events.append((bench.take(at: seconds, alert: "start", isStart: true), seconds, .max))
                continue
            }
            let expires = Int64.random(in: 1...40, using: &random)
            let expiresMillis = (bench.now.wallSeconds + expires) * 1_000
            let alert = Int.random(in: 0..<3, using: &random) == 0 ? "alert" : ""
            events.append((bench.take(at: seconds, expires: expires, alert: alert), seconds, expiresMillis))
            bench.advance(.random(in: 0...8_000, using: &random))
        }
        for _ in 0..<45 {
            bench.expire()
            let alive = events.filter { $0.expiresMillis / 1_000 > bench.now.wallSeconds }
            let newest = alive.max { ($0.seconds, $0.number) < ($1.seconds, $1.number) }
            #expect(bench.pending?.contentNumber == newest?.number)
            #expect(bench.pending?.isStart == true && bench.pending?.alertText != "")
            bench.advance(1_000)
        }
        #expect(bench.pending?.events == [Int64(startNumber) + 1] && bench.heldCount == 1)
    }

    /// Events arrive, leave, fail and expire at random. Each is held once or has ended once, and no update is lost.
    @Test(arguments: 1...150 as ClosedRange<UInt64>)
    func nothingVanishesAndNothingAppears(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        func int(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
        let bench = CoalescerBench()
        for _ in 0..<120 {
            switch int(0..<10) {
            case 0..<5:
                // Events come as `ShardMemory.enterLife` admits them: none after an end, and one start at a time.
                let isOver = [bench.inFlight, bench.pending, bench.behind].contains { $0?.isEnd == true }
                guard !isOver else { break }
                let hasStart = [bench.inFlight, bench.pending].contains { $0?.isStart == true }
                let isStart = !hasStart && int(0..<12) == 0
                // Each event fits by itself, but many do not fit together.
                let (alertByteCount, padding) = [(0, 0), (3, 0), (2_000, 0), (0, 3_000), (3, 3_000)][int(0..<5)]
                bench.take(
                    at: Int64(int(0..<40)), expires: int(0..<3) == 0 ? Int64(int(1..<60)) : nil,
                    alert: String(repeating: "A", count: isStart ? max(3, alertByteCount) : alertByteCount),
                    priority: int(0..<2) == 0 ? .high : .low, isEnd: !isStart && int(0..<20) == 0, isStart: isStart,
                    mayBeSent: int(0..<6) == 0, padding: padding,
                    attributesByteCount: int(0..<(padding == 0 ? 1_800 : 700)),
                    withdrawsAlert: !isStart && alertByteCount == 0 && int(0..<4) == 0)
            case 5, 6: bench.send()
            case 7: if bench.inFlight != nil { bench.requeue() }
            case 8: if bench.inFlight != nil { bench.accept() }
            default:
                bench.advance(Int64(int(1..<20_000)))
                bench.expire()
            }
            let held = [bench.inFlight, bench.pending, bench.behind].flatMap { $0?.events ?? [] }
            let all = (held + bench.ended.map(\.event)).sorted()
            #expect(all == Array(1..<bench.takenCount + 1))
            #expect(bench.eventCount(of: bench.slot) == held.count && bench.updateCount == bench.heldCount)
            #expect(bench.counters.pending == UInt64(held.count))
            #expect(bench.behind == nil || bench.pending != nil, "what follows something stands behind it")
            for update in [bench.inFlight, bench.pending, bench.behind] {
                guard let update else { continue }
                #expect(update.under.count <= Update.underMax)
                let byteCount = update.top.payloadByteCount(start: update.start.first)
                #expect(byteCount <= PayloadWriter.payloadByteCountMax)
                #expect(!update.isStart || update.hasAlert, "no card appears without an alert")
            }
        }
    }
}
