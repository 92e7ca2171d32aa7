import Testing

@testable import PushInspection

struct ContentDifferenceTests {
    struct Row {
        var before: String
        var after: String
        var changes: [String]
    }

    @Test(arguments: [
        Row(before: #"{"a":1,"b":2}"#, after: #"{"b":2.0,"a":1}"#, changes: []),
        Row(before: #"{"a":1,"b":2}"#, after: #"{"a":3,"c":4}"#, changes: ["a: 1 > 3", "c: - > 4", "b: 2 > -"]),
        Row(before: #"{"a":{"b":"x"}}"#, after: #"{"a":{"b":"y"}}"#, changes: [#"a.b: "x" > "y""#]),
        Row(before: #"{"a":[1,2,3]}"#, after: #"{"a":[1,5]}"#, changes: ["a[1]: 2 > 5", "a[2]: 3 > -"]),
        Row(before: #"{"a":"1"}"#, after: #"{"a":1}"#, changes: [#"a: "1" > 1"#]),
        Row(before: #"{"a":null}"#, after: "{}", changes: ["a: null > -"]),
        Row(before: "{}", after: #"{"a":{}}"#, changes: ["a: - > {}"]),
    ])
    func changesAreNamedByPath(row: Row) {
        let changes = ContentDifference.changes(from: json(row.before), to: json(row.after))
        #expect(changes.map { "\($0.path): \($0.before ?? "-") > \($0.after ?? "-")" } == row.changes)
    }

    @Test func thereAreNotTooMany() {
        let many = JSONTree.object((0..<200).map { .init("key\($0)", .integer($0)) })
        #expect(ContentDifference.changes(from: [:], to: many).count == ContentDifference.changesMax)
    }
}

struct ContentSchemaTests {
    static let schema = #"""
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "required": ["minutes", "driver"],
         "properties": {"minutes": {"type": "integer"}, "eta": {"type": ["number", "null"]},
                        "phase": {"enum": ["baking", "riding"]}, "stops": {"type": "array", "items": {"type": "string"}},
                        "driver": {"type": "object", "required": ["name"], "properties": {"name": {"type": "string"}}}}}
        """#

    @Test(arguments: [
        (#"{"minutes":12,"driver":{"name":"Anne"}}"#, nil as String?),
        (#"{"minutes":12.0,"driver":{"name":"Anne"},"eta":null,"phase":"riding","stops":["a"],"more":1}"#, nil),
        (#"{"driver":{"name":"Anne"}}"#, "“minutes” is missing, and the app requires it"),
        (
            #"{"Minutes":3,"driver":{"name":"Anne"}}"#,
            "“minutes” is missing, and the app requires it; “Minutes” is there, which is another key for Swift"
        ),
        (
            #"{"minutes":12,"driver":{"na_me":"Anne"}}"#,
            "“driver.name” is missing, and the app requires it; “na_me” is there, which is another key for Swift"
        ),
        (#"{"minutes":"12","driver":{"name":"Anne"}}"#, #"“minutes” is the string "12", expected integer"#),
        (#"{"minutes":12.5,"driver":{"name":"Anne"}}"#, "“minutes” is the number 12.5, expected integer"),
        (#"{"minutes":12,"driver":{}}"#, "“driver.name” is missing, and the app requires it"),
        (#"{"minutes":12,"driver":null}"#, "“driver” is null, expected object"),
        (#"{"minutes":12,"driver":{"name":"A"},"eta":true}"#, "“eta” is true, expected number or null"),
        (
            #"{"minutes":12,"driver":{"name":"A"},"phase":"lost"}"#,
            #"“phase” is the string "lost", expected one of "baking", "riding""#
        ),
        (#"{"minutes":12,"driver":{"name":"A"},"stops":["a",2]}"#, "“stops[1]” is the number 2, expected string"),
        ("[]", "content-state is an array, expected object"),
    ])
    func aSchemaNamesTheFirstFault(content: String, fault: String?) throws {
        #expect(try ContentSchema(json(Self.schema)).fault(in: json(content)) == fault)
    }

    @Test(arguments: [
        (#"{"name":"Bo","minutes":1,"tip":null,"legs":[{"city":"Ulm"}]}"#, nil as String?),
        (
            #"{"name":"Bo","minutes":1.5,"legs":[]}"#,
            "“minutes” is the number 1.5, expected a whole number, as the sample has (12.0 there would mean a Double)"
        ),
        (#"{"name":"Bo","legs":[]}"#, "“minutes” is missing, and the app requires it"),
        (#"{"name":"Bo","minutes":1,"legs":[{"town":"Ulm"}]}"#, "“legs[0].city” is missing, and the app requires it"),
    ])
    func aSampleRequiresItsKeys(content: String, fault: String?) throws {
        // A content with a member `type` is a sample. That name alone does not make it a schema.
        let sample = #"{"name":"Anne","minutes":12,"tip":null,"legs":[{"city":"Bonn"}]}"#
        #expect(try ContentSchema(json(sample)).fault(in: json(content)) == fault)
        let typed = try ContentSchema(json(#"{"type":"object","minutes":1}"#))
        #expect(typed.fault(in: json(#"{"type":"x"}"#)) == "“minutes” is missing, and the app requires it")
    }

    @Test func whatElseIsMissingIsNamedUpToALimit() throws {
        let sample = try ContentSchema(json(#"{"a":{"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}}"#))
        #expect(
            sample.fault(in: json(#"{"a":{"B":1}}"#))
                == "“a.b” is missing, and the app requires it; “B” is there, which is another key for Swift; also missing: “a.c”, “a.d”, “a.e”, “a.f”, “a.g” and 2 more"
        )
    }

    /// The example that is made from a schema fits the schema. A schema may require keys that it does not describe.
    @Test func anExampleOfASchemaFitsIt() throws {
        let schema = try ContentSchema(json(Self.schema))
        #expect(schema.fault(in: schema.example(nowSeconds: 0)) == nil)
        let bare = try ContentSchema(json(#"{"type":"object","required":["a"]}"#))
        #expect(bare.example(nowSeconds: 0).text == #"{"a":"text"}"#)
    }

    @Test func aDateThatIsTextIsToldWhatToSend() throws {
        let sample = try ContentSchema(json(#"{"at":817491770,"progress":1.0}"#))
        #expect(
            sample.fault(in: json(#"{"at":"2026-11-27T17:05:00Z","progress":1}"#))?.hasSuffix(
                "expected number; a Date in Swift decodes seconds since 2001: send 817491900") == true)
        #expect(sample.fault(in: json(#"{"at":817491770.5,"progress":0.5}"#)) == nil)
    }

    @Test(arguments: [
        // The text declares itself a schema.
        (#"{"$schema":"https://json-schema.org/draft/2020-12/schema"}"#, true),
        (#"{"$schema":"http://json-schema.org/draft-07/schema#","required":["a"],"properties":{"a":{}}}"#, true),
        // The whole text is JSON Schema that can describe a content-state.
        (#"{"type":"object"}"#, true), (#"{"type":"object","required":["a"]}"#, true),
        (#"{"type":["object","null"],"title":"Order"}"#, true),
        (#"{"type":"object","description":"Nothing is asked.","additionalProperties":true}"#, true),
        (#"{"type":"object","properties":{}}"#, true), (#"{"properties":{"a":{"type":"string"}}}"#, true),
        (#"{"required":["a","b"]}"#, true), (#"{"title":"Order","required":["a"]}"#, true),
        // These texts have keys of a schema beside keys of content, so they are content.
        (#"{"type":"object","minutes":1}"#, false), (#"{"required":["a"],"minutes":1}"#, false),
        (#"{"properties":{"rooms":{"type":"sum"}},"price":1}"#, false),
        // These would be schemas of something that is not an object, but a content-state is an object.
        (#"{"type":"pizza"}"#, false), (#"{"type":"string","title":"Line 7"}"#, false), (#"{"type":5}"#, false),
        (#"{"type":["object","pizza"]}"#, false), (#"{"type":"flat","properties":{"rooms":{}}}"#, false),
        // These texts would restrict nothing if they were schemas.
        (#"{"title":"Goal!","description":"1:0"}"#, false), (#"{"items":[{"name":"Pizza"}],"format":"mp4"}"#, false),
        (#"{"enum":["a"]}"#, false), (#"{"required":true}"#, false), (#"{"required":[]}"#, false),
        (#"{"required":[1]}"#, false), (#"{"properties":{}}"#, false), (#"{"properties":{"rooms":4}}"#, false),
        (#"{"$schema":7}"#, false), ("{}", false),
    ])
    func aSchemaIsToldFromASample(file: String, isSchema: Bool) throws {
        #expect(try ContentSchema(json(file)).source == (isSchema ? .schema : .sample))
    }

    /// A text that is neither a schema nor a sample is refused with a reason.
    @Test(arguments: [
        (#"{"type":"object","minProperties":1}"#, "minProperties"), (##"{"$ref":"#/$defs/a","$defs":{}}"##, "$ref"),
        (#"{"type":"object","properties":{"a":{}},"x-mine":1}"#, "x-mine"),
        (#"{"type":"object","patternProperties":{}}"#, "patternProperties"),
    ])
    func aSchemaWithMoreIsRefusedForIt(file: String, name: String) {
        #expect { _ = try ContentSchema(json(file)) } throws: { "\($0)".contains("has “\(name)”: expected type") }
    }

    @Test func aSchemaWithoutPropertiesAsksForWhatItRequires() throws {
        let schema = try ContentSchema(json(#"{"type":"object","required":["a"]}"#))
        #expect(schema.fault(in: ["a": .null]) == nil)
        #expect(schema.fault(in: ["type": "object", "required": ["a"]]) == "“a” is missing, and the app requires it")
    }

    /// A fault's text is short and hides tokens, because it may appear in test logs and fixtures.
    @Test func aFaultHidesATokenAndIsShort() throws {
        let schema = try ContentSchema(json(#"{"n":1}"#))
        let fault = try #require(schema.fault(in: json(#"{"n":"\#(TimelineTests.token)"}"#)))
        #expect(fault.contains("digits)") && !fault.contains(TimelineTests.token.prefix(33)), "\(fault)")
        let name = String(repeating: "long", count: 500)
        let long = try ContentSchema(json(#"{"\#(name)":1}"#)).fault(in: json("{}"))
        #expect(long?.count == 400)
        do {
            _ = try ContentSchema(json(#"{"type":"object","properties":{"a":{"type":"\#(name)"}}}"#))
            Issue.record("a type of 2,000 letters is taken")
        } catch {
            #expect(error.description.count < 400, "\(error.description)")
        }
    }

    @Test(arguments: [
        ("[]", "not a JSON object"),
        (#"{"type":"object","properties":{"a":{"type":"date"}}}"#, "“a” has the type “date”"),
        (#"{"type":"object","properties":{"a":{"minimum":1}}}"#, "“a” has “minimum”: expected type, properties"),
        (#"{"type":"object","properties":{"a":1}}"#, "“a” is not a JSON object"),
        (#"{"type":"object","properties":{"a":{"type":5}}}"#, "“a” has “type” as the number 5: expected a type's name"),
        (#"{"type":"object","properties":{"a":{"type":[]}}}"#, "“a” has “type” as an array: expected a type's name"),
        (#"{"type":"object","properties":{"a":{"enum":[]}}}"#, "“a” has “enum” as an array: expected an array with at"),
        (#"{"type":"object","properties":{},"required":"a"}"#, #"has “required” as the string "a": expected an array"#),
        (#"{"type":"object","properties":{},"required":[1]}"#, "the schema requires the number 1: expected the name"),
    ])
    func aSchemaItDoesNotUnderstandIsRefused(file: String, text: String) {
        do {
            _ = try ContentSchema(json(file))
            Issue.record("taken: \(file)")
        } catch {
            #expect(error.description.contains(text), "\(error.description)")
        }
    }
}

struct CardFaceTests {
    @Test(arguments: [
        (#"{"homeScore":2,"awayScore":1,"homeTeam":"Lions","awayTeam":"Bears","minute":23}"#, CardFace.Template.match),
        (#"{"home":2,"away":1}"#, .match), (#"{"home":"Lions","away":"Bears"}"#, .generic),
        (#"{"status":"Baking"}"#, .delivery), (#"{"progress":40}"#, .delivery), (#"{"status":5}"#, .generic),
        (#"{"driverName":"Anne","minutes":12}"#, .generic), ("{}", .generic), ("[1]", .generic),
    ])
    func theKeysChooseTheTemplate(content: String, template: CardFace.Template) {
        #expect(CardFace(json(content)).template == template)
    }

    @Test func aMatchHasSidesAndAClock() {
        let face = CardFace(json(#"{"homeScore":2,"awayScore":1,"homeTeam":"Lions","minute":23,"referee":"Kim"}"#))
        #expect(face.sides == [.init(name: "Lions", score: "2"), .init(name: "Away", score: "1")])
        #expect(face.headline == "23′")
        #expect(face.rows == [.init(name: "referee", value: "Kim", key: "referee")])
        #expect((face.leading, face.trailing, face.minimal) == ("2", "1", "2:1"))
    }

    @Test(arguments: [
        (#"{"progress":0.4}"#, 0.4), (#"{"progress":40}"#, 0.4), (#"{"progress":-1}"#, 0), (#"{"progress":900}"#, 1),
    ])
    func progressIsAFraction(content: String, progress: Double) {
        #expect(CardFace(json(content)).progress == progress)
    }

    @Test func whatIsLongIsCut() {
        let long = String(repeating: "x", count: 5_000)
        let face = CardFace(.object((0..<40).map { .init("key\($0)", .string(long)) }))
        #expect(face.rows.count == CardFace.rowsMax)
        #expect(face.rows.allSatisfy { $0.value.count <= 60 } && face.leading.count <= 10 && face.minimal.count <= 5)
    }
}

struct SwiftCodeTests {
    @Test func aTypeIsWrittenForEachObject() {
        let content = json(
            #"{"driver-name":"Anne","minutes":12,"share":0.5,"eta":785692800,"late":1764000000,"class":true,"tip":null,"legs":[{"city":"Ulm"}],"none":[],"2nd":"x"}"#
        )
        #expect(
            SwiftCode.contentState(content) == #"""
                struct ContentState: Codable, Hashable {
                    var driverName: String
                    var minutes: Int
                    var share: Double
                    var eta: Date  // or Int, if this is not a date
                    var late: Int  // a Date would read the wrong year: it counts from 2001
                    var `class`: Bool
                    var tip: String?  // the sample was null
                    var legs: [Legs]
                    var none: [String]  // the sample was empty
                    var _2nd: String

                    enum CodingKeys: String, CodingKey {
                        case driverName = "driver-name"
                        case minutes
                        case share
                        case eta
                        case late
                        case `class`
                        case tip
                        case legs
                        case none
                        case _2nd = "2nd"
                    }

                    struct Legs: Codable, Hashable {
                        var city: String
                    }
                }

                """#)
    }

    /// A Swift type that is made from a content can decode that content. All elements of an array are considered.
    @Test func aTypeIsWrittenFromAllElementsOfAnArray() {
        let content = json(
            #"{"goals":[{"player":"A","minute":45.5,"own":true},{"player":null,"minute":50}],"odds":[1,2.5,null],"big":9223372036854775808,"":1,"mixed":[1,"a"],"date":{"day":1}}"#
        )
        #expect(
            SwiftCode.contentState(content) == #"""
                struct ContentState: Codable, Hashable {
                    var goals: [Goals]
                    var odds: [Double?]
                    var big: UInt64
                    var _1: Int
                    var mixed: [Int]  // the sample has values of other kinds, too
                    var date: DateValue

                    enum CodingKeys: String, CodingKey {
                        case goals
                        case odds
                        case big
                        case _1 = ""
                        case mixed
                        case date
                    }

                    struct Goals: Codable, Hashable {
                        var player: String?
                        var minute: Double
                        var own: Bool?
                    }

                    struct DateValue: Codable, Hashable {
                        var day: Int
                    }
                }

                """#)
    }
}
