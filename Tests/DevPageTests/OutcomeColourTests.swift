import PageStyle
import PushModel
import Testing

/// Tests that the page's scripts have a colour for every outcome. The scripts use the names as text, which the compiler
/// cannot check.
struct OutcomeColourTests {
    @Test(arguments: Outcome.allCases) func everyOutcomeHasAColour(outcome: Outcome) {
        let names = ["\(outcome.name): \"", "\"\(outcome.name)\": \""]
        #expect(
            names.contains { PageFile.elements(at: "").text.contains(" \($0)") },
            "tones in elements.js names no \(outcome.name)")
    }
}
