import DeviceModel
import PushModel
import Testing
import Upstream

@testable import ChaosTesting

struct ChannelTrafficTests {
    private static let durationMillis: Int64 = 120_000
    private static let channels = (0..<8).map { number in
        let (app, storage) = ChannelTraffic.plan(number)
        return ChannelTraffic.Channel(id: "AAA\(number)", app: app, storage: storage)
    }

    /// Publications and notices of one run of the traffic, with their times.
    private struct Run {
        var published: [(millis: Int64, Publication)] = []
        var told: [(millis: Int64, ChannelTraffic.Notice)] = []
        var beginning: [ChannelTraffic.Notice]
        var atTheEnd: [ChannelTraffic.Notice]

        init(seed: UInt64, rate: Int = 400) {
            var traffic = ChannelTraffic(
                channels: ChannelTrafficTests.channels, durationMillis: ChannelTrafficTests.durationMillis, seed: seed)
            self.beginning = traffic.beginning
            for millis in stride(from: 0, to: ChannelTrafficTests.durationMillis, by: 10) {
                for step in traffic.steps(nowMillis: millis, wallMillis: 1_700_000_000_000 + millis, rate: rate) {
                    switch step {
                    case .publish(let publication): self.published.append((millis, publication))
                    case .send(let notice): self.told.append((millis, notice))
                    }
                }
            }
            self.atTheEnd = traffic.wakeAll()
        }

        var deletion: (millis: Int64, channel: String)? {
            for case (let millis, .delete(let channel)) in self.told { return (millis, channel) }
            return nil
        }
    }

    @Test func aSeedMakesTheSameRun() {
        #expect(Run(seed: 1).published.map(\.1.value) == Run(seed: 1).published.map(\.1.value))
        #expect(Run(seed: 1).told.map(\.1) == Run(seed: 1).told.map(\.1))
        #expect(Run(seed: 1).published.map(\.1.value) != Run(seed: 2).published.map(\.1.value))
    }

    @Test func bothPoliciesInBothApps() {
        let kinds = Set(Self.channels.map { "\($0.app) \($0.storage)" })
        #expect(kinds.count == 4)
    }

    @Test func itsShareOfTheRateIsKept() {
        let count = Run(seed: 1).published.count
        // The rate is 25 a second, for two minutes.
        #expect((2_900...3_050).contains(count), "\(count)")
    }

    @Test func everyKindOfEventOccurs() throws {
        let published = Run(seed: 1).published.map(\.1)
        let events = published.compactMap(\.event)
        #expect(events.allSatisfy { $0.kind != .start && $0.channel != nil })
        for priority in [10, 5, 1, nil] { #expect(events.contains { $0.priority == priority }) }
        #expect(events.contains { $0.alert != nil } && events.contains { $0.expiresSeconds != nil })
        #expect(published.contains { $0.isMisplaced } && published.contains { !$0.isMisplaced })
        var decoded = DecodedEvent()
        for publication in published {
            #expect(throws: Never.self) { try EventDecoder.decode(publication.value.span, into: &decoded) }
        }
    }

    /// All published records differ, because the judge finds a record in the log by its bytes.
    @Test func noTwoRecordsAreTheSame() {
        let records = Run(seed: 1).published.map {
            ChaosAudit.RecordBytes(key: Array($0.1.activity.utf8), value: $0.1.value)
        }
        #expect(Set(records).count == records.count)
    }

    @Test(arguments: 1...10 as ClosedRange<UInt64>)
    func oneChannelIsDeletedAndSomeEnd(seed: UInt64) throws {
        let run = Run(seed: seed)
        let deletion = try #require(run.deletion)
        #expect((48_000...72_010).contains(deletion.millis))
        let behind = run.published.filter { $0.1.activity == deletion.channel && $0.millis > deletion.millis }
        #expect(!behind.isEmpty && behind.allSatisfy { $0.millis <= deletion.millis + 5_000 })
        var ended: Set<String> = []
        for (millis, publication) in run.published {
            #expect(!ended.contains(publication.activity))
            guard publication.event?.kind == .end else { continue }
            #expect((96_000...114_010).contains(millis))
            ended.insert(publication.activity)
        }
        #expect(ended.count == 3 && !ended.contains(deletion.channel))
    }

    /// All but the late phones listen before the first event. Some phones go away and come back, and all are there at
    /// the end.
    @Test func phonesComeAndGo() {
        let run = Run(seed: 3)
        #expect(run.beginning.count == 8 * (ChannelTraffic.steadyCount + ChannelTraffic.sleepyCount))
        var away: Set<String> = []
        var absences = 0
        for notice in run.told.map(\.1) + run.atTheEnd {
            guard case .presence(let token, let isOnline) = notice else { continue }
            #expect(away.contains(token) == isOnline)
            if isOnline { away.remove(token) } else { away.insert(token) }
            absences += isOnline ? 0 : 1
        }
        #expect(away.isEmpty && absences > 50)
        let late = run.told.filter { if case .listen = $0.1 { true } else { false } }
        #expect((7...8).contains(late.count))
    }
}
