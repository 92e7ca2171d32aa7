import Testing

@testable import ShardLoop

/// Tests of the table that decides what to do with a record that Kafka did not store.
@Suite struct ProduceVerdictTests {
    private static func verdict(
        _ code: Int32, isAlone: Bool = true, hasPresentTime: Bool = true, isFatal: Bool = false
    ) -> ProduceVerdict {
        ProduceVerdict(ProduceError(code: code), isFatal: isFatal, isAlone: isAlone, hasPresentTime: hasPresentTime)
    }

    /// Only these errors are final for a record that was sent alone. The numbers are error codes of the Kafka protocol.
    @Test(arguments: [(10 as Int32, ProduceError.size), (18, .size), (87, .invalidRecord), (32, .invalidTimestamp)])
    func threeKindsAreForGoodWhenARecordIsAlone(_ code: Int32, _ error: ProduceError) {
        #expect(Self.verdict(code) == .forGood(error))
        #expect(Self.verdict(code, isAlone: false) == .alone)
        #expect(Self.verdict(code, isFatal: true) == .fatal)
    }

    @Test func aWrongTimeIsForGoodAfterThePresentOne() {
        #expect(Self.verdict(32, hasPresentTime: false) == .withPresentTime)
        #expect(Self.verdict(32, isAlone: false, hasPresentTime: false) == .alone)
        #expect(Self.verdict(10, hasPresentTime: false) == .forGood(.size))
    }

    /// Every other error that librdkafka knows may be temporary. Examples are errors about rights, policies, topics,
    /// versions or brokers.
    @Test func everythingElseIsForNow() {
        for code in Array(-200...110) as [Int32] where ![10, 18, 87, 32].contains(code) {
            #expect(Self.verdict(code) == .forNow, "\(code)")
            #expect(Self.verdict(code, isAlone: false) == .forNow, "\(code)")
        }
        #expect(ProduceVerdict(nil, isFatal: false, isAlone: false, hasPresentTime: false) == .taken)
    }

    @Test func eachKindHasANameOfItsOwn() {
        #expect(Set(ProduceError.allCases.map(\.label)).count == ProduceError.allCases.count)
        #expect(ProduceError(code: 29) == .notAuthorized)
        #expect(ProduceError(code: 44) == .policyViolation)
        #expect(ProduceError(code: 3) == .unknownTopic)
        #expect(ProduceError(code: 35) == .unsupportedVersion)
    }
}
