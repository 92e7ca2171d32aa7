import CommandSupport
import Testing

struct NumberTextTests {
    @Test(arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (1_234_567, "1,234,567"), (-4_321, "-4,321")])
    func numbersAreGrouped(number: Int, text: String) { #expect(NumberText.grouped(number) == text) }

    @Test func oneIsSingular() {
        #expect(NumberText.count(1, "record") == "1 record" && NumberText.count(0, "record") == "0 records")
        #expect(NumberText.count(1, "activity", plural: "activities") == "1 activity")
        #expect(NumberText.count(2, "activity", plural: "activities") == "2 activities")
    }
}
