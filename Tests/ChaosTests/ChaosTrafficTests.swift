import PushModel
import Testing
import Upstream

@testable import ChaosTesting

struct ChaosTrafficTests {
    /// Everything that is published. Cards come up and registrations follow at once.
    private static func publications(
        seed: UInt64, seconds: Int64, rate: Int = 200, hasRefusables: Bool = false
    ) -> [Publication] {
        var traffic = ChaosTraffic(activityCount: 100, seed: seed, hasRefusables: hasRefusables)
        var published: [Publication] = []
        func take(_ steps: [ChaosTraffic.Step]) {
            for step in steps {
                switch step {
                case .publish(let publication):
                    published.append(publication)
                    guard publication.event?.kind == .start, let next = traffic.cardShown(publication.activity) else {
                        continue
                    }
                    take([next])
                case .rotate(_, _, _, _, let registration):
                    published.append(registration)
                    traffic.registered(registration.activity)
                }
            }
        }
        for tick in 0...seconds * 100 {
            take(traffic.steps(nowMillis: 1_700_000_000_000 + tick * 10, rate: rate))
        }
        return published
    }

    @Test func aSeedMakesTheSameEvents() {
        let values = Self.publications(seed: 1, seconds: 10).map(\.value)
        #expect(values == Self.publications(seed: 1, seconds: 10).map(\.value))
        #expect(values != Self.publications(seed: 2, seconds: 10).map(\.value))
    }

    /// All published records differ, because the judge finds a record in the log by its bytes.
    @Test func noTwoRecordsAreTheSame() {
        let records = Self.publications(seed: 1, seconds: 60).map {
            ChaosAudit.RecordBytes(key: Array($0.activity.utf8), value: $0.value)
        }
        #expect(Set(records).count == records.count)
    }

    @Test func theRateIsKept() {
        let count = Self.publications(seed: 1, seconds: 60).count
        #expect((11_400...13_200).contains(count), "\(count) events in 60 s at 200 a second")
    }

    @Test func everyKindOfEventOccurs() {
        let published = Self.publications(seed: 1, seconds: 120)
        let events = published.compactMap(\.event)
        for kind in [StoryEvent.Kind.start, .update, .end] { #expect(events.contains { $0.kind == kind }, "\(kind)") }
        #expect(events.contains { $0.alert != nil && $0.kind == .update })
        #expect(events.contains { $0.priority == 10 } && events.contains { $0.priority == nil })
        #expect(published.contains { $0.isMisplaced })
        #expect(published.contains { $0.recordMillis != nil && $0.event != nil })
        #expect(published.contains { $0.outcomes.contains("expired") })
        #expect(published.contains { $0.outcomes == ["dead-lettered"] })
        #expect(published.contains { $0.event == nil && $0.token != nil })
    }

    /// Kafka can be set to refuse only certain records: large ones, or ones without a key. Every other record is less
    /// than half as large as `byteCountMax`.
    @Test func refusablesStandOut() throws {
        let published = Self.publications(seed: 5, seconds: 120, hasRefusables: true)
        let large = published.filter { $0.value.count > ChaosRefusal.byteCountMax }
        #expect(large.contains { $0.event != nil && $0.isMisplaced })
        #expect(large.contains { $0.outcomes == ["dead-lettered"] })
        #expect(large.allSatisfy { $0.event?.kind == .update && $0.isMisplaced || $0.outcomes == ["dead-lettered"] })
        let others = published.filter { $0.value.count <= ChaosRefusal.byteCountMax }
        #expect(others.allSatisfy { $0.value.count < ChaosRefusal.byteCountMax / 2 })
        let keyless = published.filter { $0.recordKey == nil }
        #expect(!keyless.isEmpty && keyless.allSatisfy { $0.outcomes == ["dead-lettered"] })
        let records = published.map { ChaosAudit.RecordBytes(key: $0.recordKey ?? [], value: $0.value) }
        #expect(Set(records).count == records.count)
        var event = DecodedEvent()
        for publication in large where publication.event != nil {
            #expect(throws: Never.self) { try EventDecoder.decode(publication.value.span, into: &event) }
        }
    }

    /// The worker accepts all events that are not wrong on purpose.
    @Test func eventsAreAsTheContractSays() throws {
        var event = DecodedEvent()
        for publication in Self.publications(seed: 3, seconds: 60) where publication.outcomes != ["dead-lettered"] {
            #expect(throws: Never.self) { try EventDecoder.decode(publication.value.span, into: &event) }
        }
    }

    /// After an activity's end nothing is published for it.
    @Test func anEndIsTheLastEvent() {
        var ended: Set<String> = []
        for publication in Self.publications(seed: 4, seconds: 120) {
            #expect(!ended.contains(publication.activity), "\(publication.activity)")
            if publication.event?.kind == .end { ended.insert(publication.activity) }
        }
        #expect(!ended.isEmpty)
    }
}
