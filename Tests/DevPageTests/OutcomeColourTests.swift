import PageStyle
import PushModel
import Testing

/// The scripts colour words by name, where the compiler finds nothing.
struct OutcomeColourTests {
    @Test(arguments: Outcome.allCases) func everyOutcomeHasAColour(outcome: Outcome) {
        let names = ["\(outcome.name): \"", "\"\(outcome.name)\": \""]
        #expect(
            names.contains { PageFile.elements(at: "").text.contains(" \($0)") },
            "tones in elements.js names no \(outcome.name)")
    }
}
