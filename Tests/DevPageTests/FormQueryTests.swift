import Testing

@testable import DevPage

/// Tests of queries in the spellings of forms and HTTP libraries.
struct FormQueryTests {
    @Test(arguments: [
        ("value=On+its+way", "On its way"), ("value=On%20its%20way", "On its way"), ("value=1%2B1", "1+1"),
        ("value=", ""), ("value", ""), ("other=1&value=a=b", "a=b"), ("value=1&value=2", "1"),
        ("value=%C3%A4%F0%9F%8F%81", "ä🏁"), ("val%75e=x", "x"),
    ])
    func aPlusIsASpace(query: String, value: String) throws { #expect(try FormQuery(query)["value"] == value) }

    @Test func whatIsNotThereIsNil() throws {
        #expect(try FormQuery(nil)["value"] == nil)
        #expect(try FormQuery("&&")["value"] == nil)
    }

    @Test(arguments: ["value=%ff%fe", "%c3=1", "value=%", "value=%zz"])
    func whatIsNoTextIsRefused(query: String) { #expect(throws: DevRefusal.self) { try FormQuery(query) } }
}
