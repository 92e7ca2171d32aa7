import PushEngine
import PushModel
import Testing

/// Tests the routed topic as a bus. A record that a release does not understand stops the record's partition. A later
/// release that understands the record reads it again.
@Suite struct BusTests {
    @Test(arguments: RoutedKind.allCases.filter { $0 != .event && $0 != .unknown })
    func whatIsDamagedStopsThePartitionAndIsNotPassedOver(kind: RoutedKind) {
        let h = EngineHarness()
        h.consume(keyBytes: Array("match".utf8), valueBytes: [1, 200], topic: 1, kind: kind)
        #expect(h.stopReason?.contains("liveactivity.routed[0]@100") == true)
        #expect(!h.isCommitted(topic: 1))
    }

    @Test func anUnknownKindStopsThePartitionByName() {
        let h = EngineHarness()
        h.consume(keyBytes: Array("match".utf8), valueBytes: [1], topic: 1, kind: .unknown, traceparent: "telegram")
        #expect(h.stopReason?.contains("telegram") == true)
        #expect(!h.isCommitted(topic: 1))
    }

    /// After a record that is not understood, nothing more is taken from any topic until a person has looked at the
    /// record.
    @Test func nothingIsReadBehindIt() {
        let h = EngineHarness()
        h.consume(keyBytes: Array("match".utf8), valueBytes: [1], topic: 1, kind: .unknown, traceparent: "telegram")
        let consumed = h.counters.consumed
        h.register()
        #expect(h.counters.consumed == consumed && !h.isCommitted())
    }

    @Test func namesAreReadBack() {
        for kind in RoutedKind.allCases {
            guard let name = kind.name else { continue }
            #expect(RoutedKind(named: Array("\(name)".utf8).span) == kind)
        }
        #expect(RoutedKind(named: Array("questions".utf8).span) == .unknown)
    }
}

extension EngineHarness {
    /// Why the partition is halted; `nil` if it is not.
    var stopReason: String? {
        for case .halt(_, let reason) in self.actionsSoFar() { return reason }
        return nil
    }
}
