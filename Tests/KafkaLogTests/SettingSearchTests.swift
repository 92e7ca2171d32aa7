import KafkaLog
import Testing

/// Tests of the search for settings that a cluster refuses. The search asks the cluster about one set of settings after
/// another. Here a function stands for the cluster's policy.
struct SettingSearchTests {
    private static let first: Set<String> = ["cleanup.policy", "max.message.bytes"]
    private static let topic = NewTopic(
        name: "state", partitionCount: 4, replicationFactor: 3,
        configuration: [
            "cleanup.policy": "compact", "max.message.bytes": "1048588", "min.insync.replicas": "2",
            "segment.bytes": "33554432", "segment.ms": "600000",
        ])

    /// Searches with a policy.
    /// - Returns: the refused settings that were found, and the number of questions.
    private static func search(_ isAccepted: (Set<String>) -> Bool) -> (found: [String], questionCount: Int) {
        var search = SettingSearch(Self.topic, first: Self.first)
        var questionCount = 0
        while questionCount < 100 {
            switch search.step {
            case .ask(let topic):
                questionCount += 1
                #expect(topic.name == "state" && topic.partitionCount == 4 && topic.replicationFactor == 3)
                #expect(topic.configuration.allSatisfy { Self.topic.configuration[$0.key] == $0.value })
                search.answered(isAccepted: isAccepted(Set(topic.configuration.keys)))
            case .found(let names): return (names, questionCount)
            }
        }
        return ([], questionCount)
    }

    @Test(arguments: [
        ["segment.bytes"], ["segment.bytes", "segment.ms"], ["cleanup.policy"],
        ["cleanup.policy", "max.message.bytes", "min.insync.replicas", "segment.bytes", "segment.ms"],
    ])
    func everyRefusedSettingIsNamed(refused: [String]) {
        let (found, questionCount) = Self.search { $0.isDisjoint(with: refused) }
        #expect(found.sorted() == refused)
        #expect(questionCount == 6, "without any, and with each")
    }

    /// The search also works if a policy demands a setting.
    @Test func aPolicyMayAlsoDemandASetting() {
        let demanding = Self.search { $0.contains("cleanup.policy") && !$0.contains("segment.ms") }
        #expect(demanding.found == ["segment.ms"])
        // The demanded setting is not in the first question. A single refused setting is then found by leaving settings
        // out.
        let other = Self.search { $0.contains("min.insync.replicas") && !$0.contains("segment.ms") }
        #expect(other.found == ["segment.ms"])
    }

    @Test func ofTwoThatDoNotGoTogetherTheLaterIsNamed() {
        let (found, _) = Self.search { !$0.isSuperset(of: ["cleanup.policy", "segment.bytes"]) }
        #expect(found == ["segment.bytes"])
    }

    @Test func whatIsNoMatterOfSingleSettingsNamesNone() {
        let (found, questionCount) = Self.search { _ in false }
        #expect(found == [])
        #expect(questionCount == 7)
        let bare = SettingSearch(NewTopic(name: "events", partitionCount: 1), first: Self.first)
        #expect(bare.step == .found([]))
    }

    @Test func whoeverGivesUpKeepsWhatIsKnown() {
        var search = SettingSearch(Self.topic, first: [])
        search.answered(isAccepted: true)
        search.answered(isAccepted: false)
        search.gaveUp()
        #expect(search.step == .found(["cleanup.policy"]))
    }

    @Test func onlySomeRefusalsAreAboutSettings() {
        #expect(KafkaError(code: .policyViolation).isOfTopicSettings)
        #expect(KafkaError(code: .invalidConfiguration).isOfTopicSettings)
        #expect(!KafkaError(code: .topicAuthorizationFailed).isOfTopicSettings)
        #expect(!KafkaError(code: .timedOut).isOfTopicSettings)
        #expect(KafkaError(code: .policyViolation).name == "POLICY_VIOLATION")
        #expect(KafkaError(code: .invalidConfiguration).name == "INVALID_CONFIG")
    }
}
