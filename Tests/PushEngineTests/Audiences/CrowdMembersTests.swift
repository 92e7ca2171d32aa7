import PushModel
import Testing

@testable import PushEngine

/// Tests a crowd with a single member. The round meets the member, its pushes fail, and the member moves between two
/// rings. Members of the second ring listen on a channel.
@Suite struct CrowdMembersTests {
    private final class Scene {
        static let distanceMillis: Int64 = 1_000
        var table = MemberTable(seed: 1)
        var crowd = Crowd()
        var member = MemberID.none

        init() {
            for number in [nil, 0] as [UInt8?] {
                let ring = self.table.makeRing(of: .update)
                self.crowd.passes.append(
                    Pass(
                        ring: ring, environment: .production, lane: .none, versionCount: 0, channelNumber: number,
                        channelID: number == nil ? [] : [1]))
            }
            let token = Array(repeating: UInt8(7), count: 32)
            self.member = self.table.insert(token.span, in: self.crowd.passes[0].ring, joinedSeconds: 50)
            _ = self.enter(.anew, pass: 0)
        }
        func enter(_ entrance: Crowd.Entrance, pass: Int) -> UInt32? {
            self.crowd.entered(
                self.member, as: entrance, pass: pass, notBeforeMillis: .min, distanceMillis: Self.distanceMillis,
                nowMillis: 0, in: &self.table
            ).lateNumber
        }
        func goOver(to pass: Int, as entrance: Crowd.Entrance) -> UInt32? {
            _ = self.crowd.passes[1 - pass].left(
                self.member, distanceMillis: Self.distanceMillis, nowMillis: 0, in: &self.table)
            self.table.move(self.member, to: self.crowd.passes[pass].ring)
            return self.enter(entrance, pass: pass)
        }
        func take(_ stampSeconds: Int64, hasAlert: Bool = false, recordMillis: Int64 = 0) {
            var version = self.version(stampSeconds)
            version.layer.recordMillis = recordMillis
            if hasAlert { version.layer.alert = ByteRange(start: 0, count: 1) }
            let dropped = self.crowd.take(version)
            for pass in self.crowd.passes.indices {
                self.crowd.passes[pass].take(
                    version, count: self.table.count(of: self.crowd.passes[pass].ring), dropping: dropped,
                    alertGoesAlone: false, in: &self.table)
            }
        }
        /// A version with this stamp, and with the channels that the crowd knows.
        private func version(_ stampSeconds: Int64) -> Version {
            var version = Version()
            version.stampSeconds = stampSeconds
            version.channels = self.crowd.versions.channels
            version.channelRevision = self.crowd.versions.channelRevision
            return version
        }
        func serve(pass: Int = 0) -> MemberServing? {
            var effects = ServingEffects()
            return self.crowd.nextServing(
                pass: pass, distanceMillis: 0, nowMillis: 0, in: &self.table, effects: &effects)
        }
        func push(stampSeconds: Int64, alertStampSeconds: Int64 = 0) -> MemberPush {
            var push = MemberPush()
            push.member = self.member
            push.stampSeconds = stampSeconds
            push.alertStampSeconds = alertStampSeconds
            push.mayBeHigh = true
            return push
        }
        func fail(_ push: MemberPush, dropsAlert: Bool = false) -> Crowd.FailedPush {
            self.crowd.failed(push, Crowd.Failure(notBeforeMillis: 70, dropsAlert: dropsAlert), in: self.table)
        }
        /// Gives the crowd a new state of the channel on which members of the second pass listen.
        func declareChannel(serves: Bool, takenStampSeconds: Int64 = 0, takenAlertStampSeconds: Int64 = 0) {
            var version = self.version(self.crowd.versions.stampSeconds)
            version.channelRevision += 1
            version.channels = [
                VersionChannel(
                    environment: .production, id: [1], serves: serves, isOpen: true,
                    takenStampSeconds: takenStampSeconds, takenAlertStampSeconds: takenAlertStampSeconds)
            ]
            _ = self.crowd.takesChannels(of: version)
        }
        func changeWay() -> Crowd.WayChange {
            self.crowd.changeWay(
                ofPass: 1, distanceMillis: Self.distanceMillis,
                now: EngineTime(steadyMillis: 0, wallMillis: 100_000), in: &self.table
            ).way
        }
        /// How the member would enter the second ring.
        var entrance: Crowd.Entrance {
            self.crowd.entrance(of: self.member, goingTo: 1, sentAlertStampSeconds: nil, in: self.table)
        }
        var entry: RetrySet.Entry? { self.crowd.passes[0].apart.retries[self.member] }
    }

    // MARK: Failed pushes
    @Test func whatFailedIsOwedWithItsAlertAndItsPriority() {
        let scene = Scene()
        scene.take(100, hasAlert: true)
        #expect(scene.serve() == MemberServing(member: scene.member, hasAlert: true))
        guard case .waits = scene.fail(scene.push(stampSeconds: 100, alertStampSeconds: 100)) else {
            Issue.record("the member waits")
            return
        }
        #expect(scene.entry?.owesAlert == true && scene.entry?.mayBeHigh == true && scene.entry?.failures.count == 1)
        #expect(scene.entry?.notBeforeMillis == 70)
    }
    @Test func anAlertThatMayHaveRungIsDroppedAndAUnitThatCameBackIsNotUsed() {
        let scene = Scene()
        scene.take(100, hasAlert: true)
        _ = scene.serve()
        _ = scene.crowd.reports.reportDone(isHigh: false, stampSeconds: 100)
        _ = scene.fail(scene.push(stampSeconds: 100, alertStampSeconds: 100), dropsAlert: true)
        #expect(scene.entry?.owesAlert == false && scene.entry?.mayBeHigh == false)
    }
    @Test func whatANewerRoundBringsIsSuperseded() {
        let scene = Scene()
        scene.take(100)
        _ = scene.serve()
        scene.take(200)
        guard case .superseded = scene.fail(scene.push(stampSeconds: 100)) else {
            Issue.record("the newer version comes to it")
            return
        }
        #expect(scene.entry?.isOwed == false)
    }
    @Test(arguments: [false, true])
    func nothingIsOwedInAnotherRingOrWithoutAVersion(hasVersion: Bool) {
        let scene = Scene()
        if hasVersion {
            scene.take(100)
            _ = scene.goOver(to: 1, as: .anew)
        }
        guard case .superseded = scene.fail(scene.push(stampSeconds: 100)) else {
            Issue.record("it is owed nothing there")
            return
        }
        #expect(scene.entry == nil)
    }
    /// The channel brings the newest version. A failed alert that the channel has already had is owed by token, because
    /// no later broadcast brings it.
    @Test(arguments: [0, 100] as [Int64])
    func besideAChannelTheAlertAloneIsOwed(takenAlertStampSeconds: Int64) {
        let scene = Scene()
        scene.take(100, hasAlert: true, recordMillis: 90_000)
        _ = scene.goOver(to: 1, as: .anew)
        _ = scene.serve(pass: 1)
        scene.take(200)
        scene.declareChannel(serves: true, takenStampSeconds: 150, takenAlertStampSeconds: takenAlertStampSeconds)
        guard case .toChannel = scene.changeWay() else {
            Issue.record("it is left to the channel")
            return
        }
        #expect(scene.crowd.passes[1].waitingCount == 0)
        var push = scene.push(stampSeconds: 100, alertStampSeconds: 100)
        push.pass = 1
        switch scene.fail(push) {
        case .owesAlertBeside(let count): #expect(count == 1 && takenAlertStampSeconds == 100)
        case .superseded: #expect(takenAlertStampSeconds == 0)
        case .waits: Issue.record("the broadcast brings the version")
        }
    }

    // MARK: From one ring to another
    @Test func whoHasTheNewestIsServedWhereItGoes() {
        let scene = Scene()
        scene.take(100)
        #expect(scene.entrance == .anew)
        _ = scene.serve()
        #expect(scene.entrance == .served)
        #expect(scene.goOver(to: 1, as: .served) == nil && scene.serve(pass: 1) == nil)
        #expect(scene.crowd.passes.allSatisfy { $0.waitingCount == 0 } && scene.crowd.records.isProgressDue)
    }
    @Test func whoHasNotGotTheAlertIsOwedItWhereItGoes() {
        let scene = Scene()
        scene.take(100, hasAlert: true)
        #expect(scene.entrance == .owedAlert)
        #expect(scene.goOver(to: 1, as: .owedAlert) == nil)
        #expect(scene.crowd.owedAlertStampSeconds(scene.member, pass: 1) == 100)
    }
    @Test func whoComesAnewIsLate() {
        let scene = Scene()
        scene.take(100)
        #expect(scene.goOver(to: 1, as: .anew) == 0)
        #expect(scene.serve(pass: 1) == MemberServing(member: scene.member))
    }

    // MARK: Ways
    @Test func aVersionChangesItsWayWithWhatTheChannelDoes() {
        let scene = Scene()
        scene.take(100)
        _ = scene.goOver(to: 1, as: .anew)
        scene.declareChannel(serves: false)
        #expect(scene.changeWay() == .none)
        scene.declareChannel(serves: true)
        #expect(scene.changeWay() == .toChannel && scene.crowd.passes[1].isServedByChannel)
        #expect(scene.changeWay() == .none && scene.crowd.passes[1].waitingCount == 0)
        // The channel has not taken the version, so the members get it by their tokens.
        scene.declareChannel(serves: false, takenStampSeconds: 90)
        #expect(scene.changeWay() == .toTokens && scene.crowd.passes[1].waitingCount == 1)
        scene.declareChannel(serves: true)
        #expect(scene.changeWay() == .toChannel)
        // The channel has taken the version, so its listeners have it.
        scene.declareChannel(serves: false, takenStampSeconds: 100)
        #expect(scene.changeWay() == .none && !scene.crowd.passes[1].isServedByChannel)
        #expect(scene.crowd.passes[1].waitingCount == 0)
    }
}
