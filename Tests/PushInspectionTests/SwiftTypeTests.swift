import Testing

@testable import PushInspection

/// Tests of reading the app's own type from its source.
struct SwiftTypeTests {
    private static let pizza = #"""
        import ActivityKit

        /// An order. { "not": "JSON" }
        struct PizzaAttributes: ActivityAttributes {
            public struct ContentState: Codable, Hashable {
                static let empty = ContentState(status: .baking)
                var status: Status
                var minutes: Int, tables: [Int]
                var arrivesAt: Date  // when it is there
                var courier: Courier?
                var progress: Double = 0
                let version: Int = 1
                var notes: [String: String]
                var isLate: Bool { self.minutes > 60 }
                var link: URL? { didSet { print("{") } }
                func later() -> Int { let more = 5; return self.minutes + more }

                enum Status: String, Codable { case baking, onItsWay = "on-its-way" }
                struct Courier: Codable, Hashable {
                    var name: String
                    enum CodingKeys: String, CodingKey { case name = "full_name" }
                }
            }
            var orderNumber: Int
        }
        """#

    @Test(arguments: [
        (
            #"{"status":"baking","minutes":12,"tables":[1],"arrivesAt":817491900,"progress":1,"notes":{"a":"b"}}"#,
            nil as String?
        ),
        (
            #"{"status":"on-its-way","minutes":12,"tables":[],"arrivesAt":1.5,"courier":null,"progress":0.5,"notes":{},"link":null}"#,
            nil
        ),
        (
            #"{"status":"lost"}"#,
            "“minutes” is missing, and the app requires it; also missing: “tables”, “arrivesAt”, “progress”, “notes”"
        ),
        (
            #"{"status":"lost","minutes":1,"tables":[],"arrivesAt":1,"progress":1,"notes":{}}"#,
            #"“status” is the string "lost", expected one of "baking", "on-its-way""#
        ),
        (
            #"{"status":"baking","minutes":12.5,"tables":[],"arrivesAt":1,"progress":1,"notes":{}}"#,
            "“minutes” is the number 12.5, expected an Int"
        ),
        (
            #"{"status":"baking","minutes":12,"tables":[],"arrivesAt":"1795799100","progress":1,"notes":{}}"#,
            #"“arrivesAt” is the string "1795799100", expected a Date, seconds since 2001: send 817491900"#
        ),
        (
            #"{"status":"baking","Minutes":12,"table_s":[],"arrivesAt":1,"progress":1,"notes":{}}"#,
            "“minutes” is missing, and the app requires it; “Minutes” is there, which is another key for Swift; also missing: “tables” (“table_s” is there)"
        ),
        (
            #"{"status":"baking","minutes":12,"tables":[],"arrivesAt":"2026-11-27T17:05:00Z","progress":1,"notes":{}}"#,
            #"“arrivesAt” is the string "2026-11-27T17:05:00Z", expected a Date, seconds since 2001: send 817491900"#
        ),
        (
            #"{"status":"baking","minutes":12,"tables":[],"arrivesAt":1,"courier":{"name":"Bo"},"progress":1,"notes":{}}"#,
            "“courier.full_name” is missing, and the app requires it; “name” is there, which is the property's name: send its key"
        ),
        (
            #"{"status":"baking","minutes":12,"tables":[],"arrivesAt":1,"progress":1,"notes":{"a":1}}"#,
            "“notes.a” is the number 1, expected a String"
        ),
    ])
    func aTypeNamesTheFirstFault(content: String, fault: String?) throws {
        let schema = try ContentSchema(swift: Self.pizza)
        #expect(schema.source == .swift)
        #expect(schema.fault(in: json(content)) == fault)
    }

    @Test(arguments: [
        ("let x = 5", "there is no struct in it"),
        ("class ContentState {}", "there is no struct in it"),
        ("struct ContentState { var courier: Courier }", "the type Courier is not in it: paste that type, too"),
        ("struct ContentState { var width: Measurement<UnitLength> }", "or give a sample if it is not your own"),
        ("struct ContentState { var score: (Int, Int) }", "the type of “score” is one that this page cannot read"),
        ("struct ContentState { var x = 5 }", "“x” has no type"),
        ("struct A { var x: Int }\nstruct B { var y: Int }", "none of its structs is called ContentState"),
        ("struct ContentState { var x: Int\ninit(from decoder: any Decoder) throws {} }", "decodes by code of its own"),
        (
            "enum Phase { case early, late }\nstruct ContentState { var phase: Phase }",
            #"the enum Phase has no raw values, so Swift decodes {"early": {}} and not "early": write enum Phase: String"#
        ),
        (
            "struct P: ActivityAttributes { var orderID: String }",
            "P has the attributes, which no update changes: paste its struct ContentState, too"
        ),
        ("struct ContentState { var inner: ContentState }", "ContentState contains itself"),
        (
            "struct M: ActivityAttributes { struct ContentState { var a: Int } }\nstruct C: ActivityAttributes { struct ContentState { var b: Int }\nvar id: String }",
            "this has two ActivityAttributes, C and M: give one of them, with its ContentState"
        ),
        (
            "struct M { struct ContentState { var a: Int } }\nstruct C { struct ContentState { var b: Int } }",
            "two types in it are called ContentState, M.ContentState and C.ContentState: give the one"
        ),
        (
            "struct A { struct ContentState { var s: S\nenum S: String { case a } }\nenum S: String { case b } }",
            "two types in it are called S, A.ContentState.S and A.S: give the one"
        ),
    ])
    func whatIsNotTakenIsNamed(text: String, fault: String) {
        #expect { _ = try ContentSchema(swift: text) } throws: {
            ($0 as? ContentSchema.Fault)?.description.contains(fault) == true
        }
    }

    /// A start is refused if it names another type, or if the type cannot decode the start's attributes. The app would
    /// show no card for it.
    @Test(arguments: [
        (#"{"orderNumber":7}"#, "PizzaAttributes", nil as String?),
        (
            #"{"order":"x"}"#, "OrderAttributes",
            #"attributes-type is the string "OrderAttributes", and your type is PizzaAttributes"#
        ),
        (#"{"order":"x"}"#, "PizzaAttributes", "“attributes.orderNumber” is missing, and the app requires it"),
        (#"{"orderNumber":"7"}"#, "PizzaAttributes", #"“attributes.orderNumber” is the string "7", expected an Int"#),
    ])
    func aStartBringsTheAttributesOfTheType(attributes: String, type: String, fault: String?) throws {
        let schema = try ContentSchema(swift: Self.pizza)
        #expect(schema.attributesTypeName == "PizzaAttributes" && schema.typeName == "PizzaAttributes.ContentState")
        #expect(schema.fault(inAttributes: json(attributes), type: .string(type)) == fault)
        let example = try #require(schema.exampleStart(nowSeconds: 1_795_600_000))
        #expect(schema.fault(inAttributes: example.attributes, type: example.type) == nil)
    }

    /// A start's attributes are not judged if the source has no type for them.
    @Test func attributesThatAreNotKnownAreNotJudged() throws {
        let schema = try ContentSchema(swift: "struct ContentState { var x: Int }")
        #expect(schema.attributesTypeName == nil && schema.exampleStart(nowSeconds: 0) == nil)
        #expect(schema.fault(inAttributes: json(#"{"order":"x"}"#), type: .string("C")) == nil)
    }

    @Test func anAliasNamesTheContent() throws {
        let schema = try ContentSchema(
            swift: """
                typealias Goals = Int
                struct Match: ActivityAttributes { typealias ContentState = Score; var home: String }
                struct Score: Codable, Hashable { var home: Goals }
                """)
        #expect(schema.typeName == "Score" && schema.attributesTypeName == "Match")
        #expect(schema.fault(in: json(#"{"home":1}"#)) == nil)
        #expect(schema.fault(in: json(#"{"home":"1"}"#)) == #"“home” is the string "1", expected an Int"#)
    }

    /// A range must be an array of its two bounds in order, as Swift encodes it.
    @Test(arguments: [
        (#"{"span":[1,2.5]}"#, nil as String?), (#"{"span":[2,1]}"#, "“span” is not a range"),
        (#"{"span":[1]}"#, "“span” is not a range"),
        (#"{"span":1}"#, "“span” is the number 1, expected an array of two"),
    ])
    func aRangeIsItsTwoBounds(content: String, fault: String?) throws {
        let schema = try ContentSchema(swift: "struct ContentState { var span: ClosedRange<Date> }")
        let found = schema.fault(in: json(content))
        #expect((found == nil) == (fault == nil) && found?.hasPrefix(fault ?? "") != false, "\(found ?? "")")
        #expect(schema.fault(in: schema.example(nowSeconds: 1_795_600_000)) == nil)
    }

    /// The outermost struct is the content, whatever its name. The types that it uses are read, too.
    @Test func theOutermostStructIsTheContent() throws {
        let text = "struct Match { var home: Side }\nstruct Side { var goals: Int }"
        let schema = try ContentSchema(swift: text)
        #expect(schema.fault(in: json(#"{"home":{"goals":1}}"#)) == nil)
        #expect(schema.fault(in: json(#"{"goals":1}"#)) == "“home” is missing, and the app requires it")
    }

    /// The example that is made from a type can be decoded by that type.
    @Test func anExampleOfATypeFitsIt() throws {
        let schema = try ContentSchema(swift: Self.pizza)
        let example = schema.example(nowSeconds: 1_795_600_000)
        #expect(schema.fault(in: example) == nil)
        #expect(DateLens.findings(in: example, schema: schema).allSatisfy { !$0.isTrouble })
        #expect(example["arrivesAt"]?.text == "817294300" && example["status"]?.plainText == "baking")
        #expect(example["courier"]?["full_name"]?.plainText == "text" && example["version"] == nil, "\(example.text)")
    }

    /// An incomplete type is refused. Reading it always ends.
    @Test(arguments: [
        "struct", "struct A {", "struct A { var", "struct A { var x:", "enum", "struct A { case", "\"", "/*", "}}}{{{",
    ])
    func halfATypeIsRefused(text: String) {
        #expect(throws: ContentSchema.Fault.self) { _ = try ContentSchema(swift: text) }
    }

    @Test func aSampleAddsItsKeysToTheTypeThatIsWritten() {
        let code = SwiftCode.contentState(json(#"{"minutes":12}"#), sample: json(#"{"minutes":25,"courier":null}"#))
        #expect(code.contains("var minutes: Int\n") && code.contains("var courier: String?"), "\(code)")
        let test = SwiftCode.test(of: json(#"{"minutes":12}"#), activity: "a", attributesType: "PizzaAttributes")
        #expect(test.contains("decode(PizzaAttributes.ContentState.self,") && !test.contains("Put your"), "\(test)")
    }

    /// The Swift test that the page offers compiles beside the app's type. It names the type as the app does, and
    /// compares each value with a Swift value.
    @Test func theSwiftTestCompilesBesideTheType() throws {
        let schema = try ContentSchema(
            swift: #"""
                struct PizzaAttributes: ActivityAttributes {
                    struct ContentState: Codable, Hashable {
                        var status: Status, phase: Phase, before: Status?, next: Status?
                        var arrivesAt: Date, bakedAt: Date?
                        var minutes: Int, share: Double, price: Decimal, link: URL?, courier: String, place: Place
                        enum Status: String, Codable { case baking, onItsWay = "on-its-way" }
                        enum Phase: Int, Codable { case early, late }
                        struct Place: Codable, Hashable { var x: Int }
                        enum CodingKeys: String, CodingKey {
                            case status, phase, before, next, arrivesAt, bakedAt, minutes, share, price, link, place
                            case courier = "courier_name"
                        }
                    }
                    var orderNumber: Int
                }
                """#)
        let content = json(
            #"{"status":"baking","phase":1,"before":"on-its-way","next":null,"arrivesAt":1795840000,"bakedAt":5.5,"minutes":12.0,"share":1,"price":9.99,"link":"https://a.example","courier_name":"Anne","place":{"x":1},"unknown":"x"}"#
        )
        let test = SwiftCode.test(of: content, activity: "order-1", schema: schema)
        #expect(test.contains("decode(PizzaAttributes.ContentState.self,") && !test.contains("Put your"), "\(test)")
        #expect(test.contains("\n// Import your app's module, too: @testable import YourApp\n"), "\(test)")
        #expect(test.contains("// It fails, as “arrivesAt” is 1795840000: The app decodes a Date here,"), "\(test)")
        let conditions = test.split(separator: "\n").filter { $0.contains("#expect") }.map {
            String($0.drop(while: \.isWhitespace))
        }
        #expect(
            conditions == [
                #"#expect(state.status.rawValue == "baking")"#, "#expect(state.phase.rawValue == 1)",
                #"#expect(state.before?.rawValue == "on-its-way")"#, "#expect(state.next == nil)",
                "#expect(state.arrivesAt == Date(timeIntervalSinceReferenceDate: 817532800))",
                "#expect(state.bakedAt == Date(timeIntervalSinceReferenceDate: 5.5))",
                "#expect(state.minutes == 12)", "#expect(state.share == 1)",
                #"#expect(state.price == Decimal(string: "9.99"))"#,
                #"#expect(state.link == URL(string: "https://a.example"))"#, #"#expect(state.courier == "Anne")"#,
                "#expect(state.place.x == 1)",
            ])
    }

    /// The test that is offered also compares values inside others, so it fails for each date that it names.
    @Test func theSwiftTestComparesInnerValues() throws {
        let schema = try ContentSchema(
            swift: """
                struct ContentState: Codable {
                    var courier: Courier?, stops: [Courier], byName: [String: Courier], days: [Int: Courier]
                    var tags: Set<String>, hours: ClosedRange<Int>
                    struct Courier: Codable { var seen: Date, mood: Mood? }
                    enum Mood: String, Codable { case good }
                }
                """)
        let content = json(
            #"{"courier":{"seen":1795840000},"stops":[{"seen":1},{"seen":1795840000,"mood":"good"}],"byName":{"Bo":{"seen":1795840000}},"days":{"1":{"seen":1795840000}},"tags":["a"],"hours":[1,2]}"#
        )
        let test = SwiftCode.test(of: content, activity: "order-1", schema: schema)
        let date = "Date(timeIntervalSinceReferenceDate: 817532800)"
        let conditions = test.split(separator: "\n").filter { $0.contains("#expect") }.map {
            String($0.drop(while: \.isWhitespace))
        }
        #expect(
            conditions == [
                "#expect(state.courier?.seen == \(date))",
                "#expect(state.stops[0].seen == Date(timeIntervalSinceReferenceDate: 1))",
                "#expect(state.stops[1].seen == \(date))", #"#expect(state.stops[1].mood?.rawValue == "good")"#,
                #"#expect(state.byName["Bo"]?.seen == \#(date))"#,
            ])
        for path in ["courier.seen", "stops[1].seen", "byName.Bo.seen"] {
            #expect(test.contains("// It fails, as “\(path)” is 1795840000: "), "\(test)")
        }
        #expect(test.contains("// “days.1.seen” is 1795840000: "), "no condition compares it: \(test)")
    }

    /// The offered test writes `Pizza.ContentState` for a type that is only named `ContentState`. `Pizza` is the type
    /// of the phone's attributes. A type with another name keeps its name.
    @Test(arguments: [
        ("struct ContentState { var minutes: Int }", "", "decode(ContentState.self", true),
        ("struct ContentState { var minutes: Int }", "Pizza", "decode(Pizza.ContentState.self", false),
        ("struct Match { var minutes: Int }", "Pizza", "decode(Match.self", false),
        ("extension Pizza { struct ContentState { var minutes: Int } }", "", "decode(Pizza.ContentState.self", false),
    ])
    func theSwiftTestNamesTheType(type: String, attributes: String, call: String, hasHint: Bool) throws {
        let test = SwiftCode.test(
            of: json(#"{"minutes":12}"#), activity: "a", attributesType: attributes,
            schema: try ContentSchema(swift: type))
        #expect(test.contains(call) && test.contains("Put your") == hasHint, "\(test)")
    }

    @Test(arguments: [
        (#"{"a":1,}"#, "it is not JSON: at byte 7"),
        ("hello", "it is neither JSON nor a Swift type"),
        ("final class ContentState: Codable { let now = 5 }", "there is no struct in it"),
    ])
    func whatIsNeitherIsNamedByWhatItResembles(text: String, fault: String) {
        #expect { _ = try ContentSchema.read(Array(text.utf8)) } throws: {
            ($0 as? ContentSchema.Fault)?.description.hasPrefix(fault) == true
        }
    }
}
