import PushModel
import Testing

@testable import PushEngine

/// Tests a crowd's starts, without an engine around them.
@Suite struct CrowdStartsTests {
    /// Steps happen in random order, and the owner may die at any of them. No member is sent a start twice. Each member
    /// is sent the start, or is reported as being in doubt.
    @Test(arguments: UInt64(1)...120) func nobodyGetsTwoAndAllAreAccountedFor(seed: UInt64) {
        var play = StartPlay(seed: seed)
        for _ in 0..<250 { play.step(crashes: seed % 4 != 0) }
        guard play.order != nil else { return }
        play.settle()
        let missing = play.members.subtracting(play.sent).subtracting(play.excused)
        let (unheard, unknownCount, waitingCount) = (play.unheard, Int(play.unknownCount), play.waitingCount)
        #expect(missing.isSubset(of: unheard), "seed \(seed): \(missing.subtracting(unheard).sorted())")
        #expect(missing.count <= unknownCount && waitingCount == 0)
    }
    /// A partition that is released in good order leaves no member in doubt.
    @Test(arguments: UInt64(1)...20) func aReleaseLeavesNobodyInDoubt(seed: UInt64) {
        var play = StartPlay(seed: seed)
        for member in 1...60 { play.join(member) }
        play.acknowledgeAll()
        play.begin()
        for step in 0..<30 {
            play.acknowledgeAll()
            for _ in 0..<step % 4 { _ = play.send() }
            play.answer()
            play.pass(60)
            play.writeIfDue()
            if step % 10 == 9 { play.release() }
        }
        play.settle()
        let (sentCount, unknownCount, unheard) = (play.sent.count, play.unknownCount, play.unheard)
        #expect(sentCount == 60 && unknownCount == 0 && unheard.isEmpty)
    }
    /// The app wants starts to be resent to members that may have got them. After crashes no member is left out, and no
    /// member waits in the end.
    @Test(arguments: UInt64(1)...120) func whereStartsAreResentNobodyIsLeftOut(seed: UInt64) {
        var play = StartPlay(seed: seed, resends: true)
        for _ in 0..<250 { play.step(crashes: true) }
        if play.order == nil { play.begin() }
        play.crash()
        play.settle()
        let missing = play.members.subtracting(play.sent).subtracting(play.excused)
        let (unknownCount, waitingCount) = (play.unknownCount, play.waitingCount)
        #expect(missing.isEmpty, "seed \(seed): \(missing.sorted())")
        #expect(unknownCount == 0 && waitingCount == 0)
    }
    @Test func everyPhaseIsReached() {
        var phases: Set<CrowdStarts.Phase> = []
        for resends in [false, true] {
            var play = StartPlay(seed: 5, resends: resends)
            for _ in 0..<300 { play.step(crashes: true) }
            phases.formUnion(play.phases)
        }
        #expect(phases == [.over, .goesRound, .goesOnInDoubt])
    }

    private static func order(_ stampSeconds: Int64, life: Int64 = 1) -> StartOrder {
        var order = StartOrder()
        order.life = life
        order.stampSeconds = stampSeconds
        order.expiresSeconds = stampSeconds + 900
        return order
    }
    private static func name(_ coming: CrowdStarts.Coming) -> String {
        switch coming {
        case .nothing: "nothing"
        case .goesOn: "goesOn"
        case .ceases: "ceases"
        case .begins(let order): "begins \(order.stampSeconds)"
        }
    }
    /// Tests what the start in a version means to a crowd, with and without a start that already goes round.
    @Test(arguments: [
        (false, nil, "nothing"), (false, 90, "nothing"), (false, 100, "nothing"), (false, 110, "begins 110"),
        (true, nil, "ceases"), (true, 100, "goesOn"), (true, 90, "ceases"), (true, 110, "begins 110"),
    ]) func aStartComesOnce(goesRound: Bool, stampSeconds: Int64?, meaning: String) {
        var starts = CrowdStarts()
        var table = MemberTable(seed: 1)
        var entries: [RingEntry] = []
        _ = starts.startCame(Self.order(100), in: &table, entries: &entries)
        if !goesRound {
            _ = starts.ceased(into: \.superseded, in: &table)
            starts.over()
        }
        #expect(Self.name(starts.coming(stampSeconds.map { Self.order($0) })) == meaning)
    }
    /// A start's trace begins once. It begins again only if it has ended and the start may go on.
    @Test func aTraceBeginsOnce() {
        var starts = CrowdStarts()
        var table = MemberTable(seed: 1)
        var entries: [RingEntry] = []
        var looked = starts.traceLooked()
        #expect(looked == nil && starts.trace == .untraced)
        _ = starts.startCame(Self.order(100), in: &table, entries: &entries)
        #expect(starts.trace == .toBegin)
        looked = starts.traceLooked()
        #expect(looked?.stampSeconds == 100)
        starts.traceBegan()
        looked = starts.traceLooked()
        #expect(looked == nil && starts.trace == .traced)
        starts.traceEnded(mayGoOn: true)
        #expect(starts.trace == .toBegin)
        starts.traceEnded(mayGoOn: false)
        #expect(starts.trace == .toBegin, "what has not begun does not end")
    }
}
