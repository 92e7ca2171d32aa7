import CommandSupport
import Testing

@testable import mailboat

struct AdviceTests {
    private static let advice = "'mailboat doctor --config FILE' tries it"

    @Test(arguments: [
        ("mailboat.yaml", "--config mailboat.yaml'"), ("/etc/my own.yaml", "--config '/etc/my own.yaml''"),
        (nil, "--config FILE'"),
    ]) func adviceNamesTheFileThatWasGiven(path: String?, words: String) {
        #expect(Advice.naming(settings: path, in: Self.advice).contains(words))
    }

    @Test(arguments: ExplainVerdictTests.cases) func explainLeavesNoBlank(_ one: ExplainVerdictTests.Case) {
        var facts = one.facts
        facts.settingsFile = "m.yaml"
        #expect(!ExplainVerdict.decide(facts).next.joined().contains("FILE"))
    }
}
