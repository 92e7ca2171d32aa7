import PushModel
import Testing

@testable import PushInspection

struct EntryQueryTests {
    static let facts = EntryFacts(
        activity: "Order-7", apps: ["com.example.pizza"], kinds: ["update"], words: ["event", "superseded", "alert"],
        statuses: [410],
        phones: [3], text: #"{"driverName":"Anne"}"#)

    @Test(arguments: [
        ("", true), ("  ", true), ("activity:Order-7", true), ("activity:order-7", false),
        ("activity:Order", false), ("activity:Order*", true), ("activity:rder-7", false), ("activity:rder*", false),
        ("-activity:Order-7*", false), ("activity:\"Order-7\"", true), ("activity:\"Order*\"", false),
        ("activity:*", true), ("activity:Order-8", false), ("app:pizza", true),
        ("event:update", true),
        ("event:end", false), ("is:superseded", true), ("-is:superseded", false), ("is:delivered", false),
        ("status:410", true),
        ("-status:200", true), ("phone:3", true), ("phone:4", false), ("anne", true),
        ("ANNE is:alert activity:Order-7", true),
        ("anne is:delivered", false), ("-", false), ("bob", false), ("-bob", true),
    ])
    func everyPartHasToFit(query: String, fits: Bool) throws {
        #expect(try EntryQuery(query).matches(Self.facts) == fits)
    }

    /// A link to an activity finds only that activity, whatever characters its id contains.
    @Test(arguments: [
        "order-1", "order 1", "order-1*", "\"order\"", "a:b", "8484 é",
        "8ba1e5c1b9d04be58ba1e5c1b9d04be58ba1e5c1b9d04be58ba1e5c1b9d04be5",
    ])
    func aLinkFindsItsActivityAlone(id: String) throws {
        let query = try EntryQuery(EntryQuery.text(ofActivity: id) + " is:event")
        #expect(query.activities == [id])
        for other in [id, id + "2", "x" + id, id.uppercased() + "É"] {
            let facts = EntryFacts(activity: TokenText.shortened(other), words: ["event"])
            #expect(query.matches(facts) == (other == id), "\(other)")
        }
    }

    @Test(arguments: [
        ("foo:bar", "“foo:” is not a field to search by"), ("is:lost", "“is:lost” is not a word that “is:” takes"),
        (
            "event:starts",
            "“event:starts” is not a kind of event: expected register, unregister, start, update, end, open"
        ),
        ("-event:goal", "“event:goal” is not a kind of event"),
        ("status:x", "no number"),
        ("app:", "has no value"), (String(repeating: "x", count: 513), "at most 512 bytes"),
    ])
    func whatMakesNoSenseIsTold(query: String, text: String) {
        do {
            _ = try EntryQuery(query)
            Issue.record("taken: \(query)")
        } catch {
            #expect(error.description.contains(text), "\(error.description)")
        }
    }
}
