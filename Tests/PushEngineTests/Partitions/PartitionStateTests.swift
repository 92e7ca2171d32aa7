import PushModel
import Testing

@testable import PushEngine

/// Tests one partition alone: its phases from assignment to leaving, and the conditions for its pushes.
@Suite struct PartitionStateTests {
    private typealias Phase = PartitionState.Phase
    private typealias Pushing = PartitionState.Pushing

    private enum Event: CaseIterable {
        case marker, markerSomewhere, restored, inlet, gap, gapTaken, gapRepaired, catchUp, caughtUp, claim, claimed,
            claimedSomewhere, release, finish, left
    }
    /// A partition to which events happen, and the effect of the last event.
    private struct Play {
        var state = PartitionState(number: 3, generation: 0)
        var effect = PartitionState.MarkerEffect.nothing
        var offset: Int64 = 10

        mutating func happen(_ event: Event) {
            self.effect = .nothing
            self.offset += 1
            switch event {
            case .marker: self.effect = self.state.markerAcknowledged(claimNumber: 0, offset: self.offset)
            case .markerSomewhere: self.effect = self.state.markerAcknowledged(claimNumber: 0, offset: -1)
            case .restored: self.state.restored(logs: [], replayEnds: [], isOfNewLog: false)
            case .inlet: self.state.inletOpened(logs: [], wallMillis: 1)
            case .gap:
                for _ in 0..<2 {
                    self.offset += 2
                    if !self.state.takeFollowing(self.offset) { _ = self.state.takeStateOffset(self.offset) }
                }
            case .gapTaken: _ = self.state.takeGap()
            case .gapRepaired: self.state.gapRepaired()
            case .catchUp: self.state.beginCatchUp(endsMillis: 9)
            case .caughtUp: self.state.caughtUp()
            case .claim:
                self.state.claimBegins()
                self.state.claimWritten(7)
            case .claimed:
                self.effect = self.state.markerAcknowledged(claimNumber: self.state.claimNumber, offset: self.offset)
            case .claimedSomewhere:
                self.effect = self.state.markerAcknowledged(claimNumber: self.state.claimNumber, offset: -1)
            case .release: self.state.beginRelease()
            case .finish: _ = self.state.finishRelease()
            case .left: self.state.left()
            }
        }
        init(_ events: [Event]) { for event in events { self.happen(event) } }
    }

    /// Each sequence of events leads to the phase and the effect that the test names.
    @Test func whereEachStepLeads() {
        func ends(_ events: [Event], at phase: Phase, _ effect: PartitionState.MarkerEffect = .nothing) -> Bool {
            let play = Play(events)
            return play.state.phase == phase && play.effect == effect
        }
        #expect(ends([], at: .awaitingMarker))
        #expect(ends([.markerSomewhere], at: .awaitingMarker, .writeMarker), "another one tells where it lies")
        #expect(ends([.marker], at: .restoring))
        #expect(ends([.marker, .markerSomewhere], at: .restoring, .lookAtPushing), "it has its epoch")
        #expect(ends([.marker, .restored], at: .running))
        #expect(ends([.marker, .restored, .marker], at: .running, .lookAtPushing))
        #expect(ends([.marker, .restored, .marker, .marker], at: .running), "later ones change nothing")
        #expect(ends([.inlet], at: .running))
        #expect(ends([.release], at: .released), "it never ran")
        #expect(ends([.release, .markerSomewhere], at: .released), "it is not waited for")
        #expect(ends([.marker, .release], at: .released), "it never ran")
        #expect(ends([.inlet, .release], at: .releasing))
        #expect(ends([.inlet, .release, .finish], at: .released))
        #expect(ends([.inlet, .finish], at: .running), "it does not leave")
        #expect(ends([.inlet, .release, .finish, .left], at: .gone))
        #expect(ends([.inlet, .left], at: .gone), "it is lost")
        // The following sequences begin another epoch.
        let running: [Event] = [.marker, .restored, .marker]
        #expect(ends(running + [.claim, .claimed], at: .running, .confirmEpoch))
        #expect(ends(running + [.claim, .claimedSomewhere], at: .running, .writeClaim))
        #expect(ends(running + [.claim, .marker], at: .running), "it is of the epoch that ends")
        #expect(ends(running + [.claim, .claimed, .claimed], at: .running), "none is under way")
        #expect(Play(running + [.claim]).state.claim == 7 && Play(running + [.claim, .claimed]).state.claim == nil)
        #expect(Play(running + [.claim, .claimed]).state.epoch == 15)
    }

    /// Each missing condition keeps a new owner from pushing, even if all others hold.
    @Test func everythingMustBeInOrderBeforeAPush() {
        func opens(_ events: [Event]) -> Bool {
            var play = Play(events)
            return play.state.opensForPushes() && play.state.mayPush
        }
        let running: [Event] = [.marker, .restored, .marker]
        #expect(opens(running))
        #expect(!opens([.marker, .restored]), "the marker that says that it runs")
        #expect(!opens([.marker, .marker]), "the restore")
        #expect(!opens(running + [.release]) && !opens(running + [.release, .finish]) && !opens(running + [.left]))
        #expect(!opens(running + [.gap]) && !opens(running + [.gap, .gapTaken]))
        #expect(opens(running + [.gap, .gapTaken, .gapRepaired]))
        #expect(!opens(running + [.catchUp]) && opens(running + [.catchUp, .caughtUp]))
        #expect(!opens([.inlet]), "nothing of an inlet's is pushed")
    }

    /// Events come in random order. Pushing begins once, when every condition holds, and is not stopped again. Every
    /// phase is reached.
    @Test func pushesBeginOnceAndInOrder() {
        var reached: Set<[String]> = []
        for seed in UInt64(1)...200 {
            var random = SplitMix64(seed: seed)
            var play = Play([])
            var (isMarked, isOpen, isCatchingUp, isRepairing, gaps) = (false, false, false, false, 0)
            for _ in 0..<60 {
                let event: Event = Event.allCases.randomElement(using: &random) ?? .marker
                // The engine lets these events happen only in certain phases.
                let (phase, claim) = (play.state.phase, play.state.claim)
                switch event {
                case .restored where phase != .restoring: continue
                case .inlet where phase != .awaitingMarker || play.state.epoch >= 0: continue
                case .claim where phase != .running: continue
                case .left where phase != .released: continue
                case .gap where phase == .gone: continue
                default: break
                }
                let (hadEpoch, hadGaps) = (play.state.epoch >= 0, play.state.gaps.count)
                play.happen(event)
                switch event {
                case .marker, .markerSomewhere, .claimed, .claimedSomewhere:
                    if claim == nil, hadEpoch { isMarked = true }
                case .gapTaken: if phase == .running, gaps > 0, !isRepairing { isRepairing = true }
                case .gapRepaired: isRepairing = false
                case .catchUp: isCatchingUp = true
                case .caughtUp: isCatchingUp = false
                default: break
                }
                gaps = play.state.gaps.count
                #expect(event == .gap || event == .left || gaps <= hadGaps)
                let shouldOpen =
                    play.state.phase == .running && isMarked && !isOpen && gaps == 0 && !isRepairing && !isCatchingUp
                let opens = play.state.opensForPushes()
                #expect(opens == shouldOpen, "seed \(seed)")
                if opens { isOpen = true }
                #expect(play.state.mayPush == isOpen && (play.state.pushing != .unmarked) == isMarked, "seed \(seed)")
                #expect(play.state.sends == (play.state.phase == .running))
                reached.insert(["\(play.state.phase)", "\(play.state.pushing)"])
            }
        }
        for phase in ["restoring", "running", "releasing", "released", "gone"] {
            #expect(reached.contains([phase, "unmarked"]) && reached.contains([phase, "held"]), "\(phase)")
        }
        #expect(reached.contains(["awaitingMarker", "unmarked"]) && reached.contains(["running", "open"]))
    }

    @Test func aStopHasTheReasonThatCameFirst() {
        var state = PartitionState(number: 0, generation: 0)
        let first = state.stopped("one")
        let second = state.stopped("another")
        #expect(first && !second && state.stopReason == "one")
    }

    @Test func outdatedKeysAreTakenOnce() {
        var state = PartitionState(number: 0, generation: 0)
        for key in [[1], [2]] as [[UInt8]] { state.metOutdated(key.span) }
        let taken = state.takeOutdatedKeys()
        #expect(taken == [[1], [2]] && state.outdatedKeys.isEmpty)
    }
}
