import PushModel
import Testing

@Suite struct EventDecoderTests {
    static let contractExample = """
        {
          "event": "update",
          "app": "com.example.pizza",
          "priority": 10,
          "timestamp": 1685952000,
          "content-state": {"driverName": "Anne", "estimatedDeliveryTime": 1659416400},
          "alert": {"title": {"loc-key": "%@ is knocked down!", "loc-args": ["Power Panda"]}, "body": "Use a potion!", "sound": "HeroDown.mp4"},
          "stale-date": 1685959200,
          "relevance-score": 100
        }
        """

    @Test func theContractsExample() throws {
        let (event, value) = try decode(Self.contractExample)
        #expect(event.kind == .update)
        #expect(event.target == .activity)
        #expect(event.priority == .high)
        #expect(event.timestampSeconds == 1_685_952_000)
        #expect(event.staleDateSeconds == 1_685_959_200)
        #expect(event.dismissalDateSeconds == nil)
        #expect(event.expiresSeconds == nil)
        #expect(event.text.text(event.appInText) == "com.example.pizza")
        #expect(
            value.text(event.contentStateInValue) == #"{"driverName": "Anne", "estimatedDeliveryTime": 1659416400}"#)
        #expect(
            value.text(event.alertInValue)
                == #"{"title": {"loc-key": "%@ is knocked down!", "loc-args": ["Power Panda"]}, "body": "Use a potion!", "sound": "HeroDown.mp4"}"#
        )
        #expect(value.text(event.relevanceScoreInValue) == "100")
        #expect(
            event.attributesInValue.isEmpty && event.attributesTypeInValue.isEmpty
                && event.inputPushChannelInValue.isEmpty)
        #expect(
            event.activityInText.isEmpty && event.audienceInText.isEmpty && event.tokenInText.isEmpty
                && event.eventIDInText.isEmpty)
    }

    @Test func aStart() throws {
        let (event, value) = try decode(
            #"""
            {"event":"start","to":{"environment":"development","start-token":"00FFab"},"attributes-type":"Adventure\u0041",
             "attributes":{"hero":"Panda"},"content-state":{},"alert":{"title":"a","body":"b"},"input-push-channel":"dHN0\/LXNyY2g=",
             "expires":1800000000,"id":"e-1","relevance-score":-7.5e+1}
            """#)
        #expect(event.kind == .start)
        #expect(event.target == .startToken)
        #expect(event.environment == .development)
        #expect(event.priority == .high)
        #expect(event.timestampSeconds == nil)
        #expect(Array(event.text[event.tokenInText.range]) == [0x00, 0xFF, 0xAB])
        #expect(event.text.text(event.eventIDInText) == "e-1")
        #expect(value.text(event.attributesTypeInValue) == #""Adventure\u0041""#)
        #expect(value.text(event.attributesInValue) == #"{"hero":"Panda"}"#)
        #expect(value.text(event.contentStateInValue) == "{}")
        #expect(value.text(event.inputPushChannelInValue) == #""dHN0\/LXNyY2g=""#)
        #expect(value.text(event.relevanceScoreInValue) == "-7.5e+1")
        #expect(event.expiresSeconds == 1_800_000_000)
        #expect(!event.inputPushToken)
    }

    @Test func aRegistration() throws {
        let (event, _) = try decode(
            #"{"event":"register","token":"80E0","app":"com.example.pizza","environment":"production","frequent-updates":true}"#
        )
        #expect(event.kind == .register)
        #expect(event.target == .activity)
        #expect(event.environment == .production)
        #expect(event.frequentUpdates)
        #expect(Array(event.text[event.tokenInText.range]) == [0x80, 0xE0])
    }

    @Test func aRegistrationForAnAudienceNeedsNoToken() throws {
        for kind in ["register", "unregister"] {
            let (event, _) = try decode(#"{"event":"\#(kind)","audience":"match-7"}"#)
            #expect(event.target == .audience)
            #expect(event.text.text(event.audienceInText) == "match-7")
            #expect(event.tokenInText.isEmpty)
        }
    }

    @Test func aMemberThatJoinsHasDefaults() throws {
        let (event, _) = try decode(#"{"event":"register","audience":"match-7"}"#)
        #expect(!event.isStartMember && !event.channelCapable && !event.frequentUpdates)
        #expect(event.environment == .production && !event.isEnvironmentGiven)
        #expect(event.channelInText.isEmpty)
    }

    @Test func aMemberThatJoinsWithAnUpdateToken() throws {
        for type in [#","token-type":"update""#, #","token-type":"upd\u0061te""#, ""] {
            let (event, _) = try decode(
                #"{"event":"register","channel":"dHN0\/8+=","frequent-updates":true\#(type),"audience":"match-7","environment":"development"}"#
            )
            #expect(event.target == .audience && !event.isStartMember && event.frequentUpdates)
            #expect(event.environment == .development)
            #expect(event.text.text(event.channelInText) == "dHN0/8+=")
            #expect(event.text.text(event.audienceInText) == "match-7")
        }
    }

    @Test(arguments: [
        (#""token-type":"start""#, false), (#""token-type" : "\u0073tart","channel-capable" : true"#, true),
        (#""channel-capable":true,"token-type":"start""#, true),
        (#""channel\u002dcapable":false,"token\u002dtype":"start""#, false),
    ])
    func aMemberThatJoinsWithAStartToken(fields: String, channelCapable: Bool) throws {
        let (event, _) = try decode(#"{"event":"register","audience":"match-7",\#(fields)}"#)
        #expect(event.target == .audience && event.isStartMember)
        #expect(event.channelCapable == channelCapable)
    }

    @Test func aLeaveMayRepeatWhatItsJoinSaid() throws {
        for fields in [
            #""token-type":"start","channel-capable":true"#, #""token-type":"update","channel":"AAAA""#,
            #""environment":"development","frequent-updates":true"#,
        ] {
            let (event, _) = try decode(#"{"event":"unregister","audience":"match-7",\#(fields)}"#)
            #expect(event.kind == .unregister && event.target == .audience)
            #expect(event.text.text(event.audienceInText) == "match-7")
        }
    }

    @Test func aStartForAnAudience() throws {
        let (event, value) = try decode(
            #"{"event":"start","to":{"audience":"match-7"},"attributes-type":"A","attributes":{"a":1},"content-state":{},"alert":{"title":"","body":""},"input-push-token":1}"#
        )
        #expect(event.kind == .start && event.target == .audience && event.priority == .high && event.inputPushToken)
        #expect(event.text.text(event.audienceInText) == "match-7")
        #expect(value.text(event.attributesInValue) == #"{"a":1}"#)
        #expect(event.tokenInText.isEmpty)
    }

    @Test func anUnregistrationNeedsNothing() throws {
        let (event, _) = try decode(#"{"event":"unregister"}"#)
        #expect(event.kind == .unregister)
        #expect(event.target == .activity)
    }

    @Test func anEndNeedsNothing() throws {
        let (event, _) = try decode(#"{"event":"end","dismissal-date":0}"#)
        #expect(event.kind == .end)
        #expect(event.priority == .high)
        #expect(event.contentStateInValue.isEmpty)
        #expect(event.dismissalDateSeconds == 0)
    }

    @Test(arguments: [
        (#""activity":"a/1""#, EventTarget.activity), (#""audience":"match-7""#, .audience),
        (#""channel":"dHN0+/8=""#, .channel), (#""environment":"development","channel":"dHN0\/+8=""#, .channel),
        (#""token":"ab""#, .token), (#""x-note":[1],"token":"ab","environment":"development""#, .token),
    ])
    func targets(to: String, target: EventTarget) throws {
        let (event, _) = try decode(#"{"event":"update","content-state":{},"to":{\#(to)}}"#)
        #expect(event.target == target)
        switch target {
        case .activity: #expect(event.text.text(event.activityInText) == "a/1")
        case .audience: #expect(event.text.text(event.audienceInText) == "match-7")
        case .channel: #expect(["dHN0+/8=", "dHN0/+8="].contains(event.text.text(event.audienceInText)))
        case .token, .startToken: #expect(Array(event.text[event.tokenInText.range]) == [0xAB])
        }
    }

    @Test func anEnvironmentThatIsGivenIsToldFromTheDefault() throws {
        let given = [
            #"{"event":"end","to":{"channel":"AAAA","environment":"production"}}"#,
            #"{"event":"end","to":{"environment":"development","token":"ab"}}"#,
            #"{"event":"register","token":"ab","environment":"production"}"#,
        ]
        for json in given { #expect(try decode(json).event.isEnvironmentGiven, "\(json)") }
        for json in [#"{"event":"end","to":{"channel":"AAAA"}}"#, #"{"event":"register","token":"ab"}"#] {
            #expect(try !decode(json).event.isEnvironmentGiven, "\(json)")
        }
    }

    @Test func nullWithdrawsAnAlert() throws {
        for json in [
            #"{"event":"end","alert":null}"#, #"{"event":"update","content-state":{},"alert" : null }"#,
            #"{"alert":null,"event":"update","content-state":{},"to":{"channel":"AAAA"}}"#,
        ] {
            let event = try decode(json).event
            #expect(event.withdrawsAlert && event.alertInValue.isEmpty)
            #expect(event.priority == (event.kind == .end ? .high : .low), "it is no alert")
        }
        #expect(try !decode(#"{"event":"end","alert":{"title":"","body":""}}"#).event.withdrawsAlert)
        #expect(try !decode(#"{"event":"end"}"#).event.withdrawsAlert)
    }

    @Test(arguments: [
        (#""event":"update","content-state":{}"#, PushPriority.low),
        (#""event":"update","content-state":{},"priority":1,"to":{"channel":"AAAA"}"#, .lowest),
        (#""event":"end","to":{"channel":"AAAA"},"priority": 1 "#, .lowest),
        (#""event":"end","to":{"channel":"AAAA"}"#, .high),
        (#""event":"update","content-state":{},"alert":{"title":"","body":""}"#, .high),
        (#""event":"update","content-state":{},"alert":{"title":"","body":""},"priority":5"#, .low),
        (#""priority":"low","event":"update","content-state":{},"alert":{"title":"","body":""}"#, .low),
        (#""event":"update","content-state":{},"priority":"high""#, .high),
        (#""event":"update","content-state":{},"priority":10"#, .high),
        (#""event":"end""#, .high), (#""event":"end","priority":5"#, .low),
    ])
    func priorities(fields: String, priority: PushPriority) throws {
        #expect(try decode("{\(fields)}").event.priority == priority)
    }

    @Test func fieldsOfOnesOwnAreIgnored() throws {
        let (event, _) = try decode(#"{"x-":null,"x-trace":{"a":[1,{"b":"\u00e9"}]},"event":"end","x-trace":1}"#)
        #expect(event.kind == .end)
    }

    @Test func namesAndWordsMayBeSpeltWithEscapes() throws {
        let (event, value) = try decode(
            #"{"\u0065vent":"upd\u0061te","content\u002Dstate":{"a":1},"alert":{"titl\u0065":"","body":{"loc\u002dkey":"k"}},"to":{"tok\u0065n":"\u0061b"},"app":"\ud83c\udf55","x\u002da":0}"#
        )
        #expect(event.kind == .update)
        #expect(value.text(event.contentStateInValue) == #"{"a":1}"#)
        #expect(event.text.text(event.appInText) == "🍕")
        #expect(Array(event.text[event.tokenInText.range]) == [0xAB])
    }

    @Test func carriedPartsKeepEveryByte() throws {
        let state = #"{ "b" : 1.0E+02 , "a":"\u00e9é\/🍕" ,"b":[ -0 ,1e-7,{ } ,[]],"n":null }"#
        let alert = #"{ "body" :"\u0021" , "title":{"loc-args":[],"loc-key":"k"} }"#
        let attributes = "{\t\"z\":\r\n[true,false]}"
        let (event, value) = try decode(
            """
            {"event":"start","content-state": \(state) ,"alert": \(alert)\t,"attributes":\(attributes),"attributes-type" : "T" ,
             "to":{"start-token":"ab"}}
            """)
        #expect(value.text(event.contentStateInValue) == state)
        #expect(value.text(event.alertInValue) == alert)
        #expect(value.text(event.attributesInValue) == attributes)
        #expect(value.text(event.attributesTypeInValue) == "\"T\"")
    }

    @Test func theNextEventKnowsNothingOfTheLast() throws {
        var event = DecodedEvent()
        let first = Array(Self.contractExample.utf8)
        let second = Array(#"{"event":"register","token":"ab","app":"b"}"#.utf8)
        try EventDecoder.decode(first.span, into: &event)
        try EventDecoder.decode(second.span, into: &event)
        #expect(event.kind == .register)
        #expect(event.timestampSeconds == nil && event.staleDateSeconds == nil)
        #expect(event.contentStateInValue.isEmpty && event.alertInValue.isEmpty && event.relevanceScoreInValue.isEmpty)
        #expect(event.text.count == 2)
    }

    /// Decoding an event resets every property that a refused event has set. The test also covers properties that are
    /// added later.
    @Test func everyPropertyIsReset() throws {
        var (fresh, used) = (DecodedEvent(), DecodedEvent())
        let everything = [
            #"{"event":"start","to":{"start-token":"00ff","environment":"development"},"attributes-type":"A","attributes":{"a":1},"#
                + #""content-state":{"é":2},"alert":{"title":"t","body":"b"},"input-push-token":1,"app":"a","id":"i","priority":5,"#
                + #""timestamp":1685952000,"stale-date":1685952001,"expires":1685952002,"relevance-score":1}"#,
            #"{"event":"end","to":{"activity":"a"},"dismissal-date":1685952003,"alert":null}"#,
            #"{"event":"register","audience":"a","frequent-updates":true,"environment":"development","channel":"AAAA"}"#,
            #"{"event":"unregister","audience":"a","token-type":"start","channel-capable":true}"#,
            #"{"event":"start","to":{"audience":"a"},"attributes-type":"A","attributes":{},"content-state":{},"#
                + #""alert":{"title":"t","body":"b"},"input-push-channel":"AAAA"}"#,
        ]
        let plain = Array(#"{"event":"update","content-state":{}}"#.utf8)
        try EventDecoder.decode(plain.span, into: &fresh)
        var changed = Set<String>()
        for event in everything.map({ Array($0.utf8) }) {
            try EventDecoder.decode(event.span, into: &used)
            for (one, other) in zip(Mirror(reflecting: used).children, Mirror(reflecting: fresh).children)
            where "\(one.value)" != "\(other.value)" { changed.insert(one.label ?? "") }
            try EventDecoder.decode(plain.span, into: &used)
            for (one, other) in zip(Mirror(reflecting: used).children, Mirror(reflecting: fresh).children) {
                #expect("\(one.value)" == "\(other.value)", "\(one.label ?? "")")
            }
        }
        #expect(changed.count == Mirror(reflecting: fresh).children.count, "an event above should fill every property")
    }

    /// Spellings that differ slightly from the ordinary one: names and values are shorter or longer, or have white
    /// space around them.
    @Test(
        arguments: [
            (#"{"event":"update","content-state":{},"stale-date":1685952000}"#, 1_685_952_000),
            (#"{"event":"update","content-state":{},"stale-date":1000000000}"#, 1_000_000_000),
            (#"{"event":"update","content-state":{},"stale-date":9999999999}"#, 9_999_999_999),
            (#"{"event":"update","content-state":{},"stale-date" :1685952000 }"#, 1_685_952_000),
            (#"{ "event": "update", "content-state": {}, "stale-date": 1685952000}"#, 1_685_952_000),
            (#"{"event":"update","content-state":{},"stale-date":1685952000  ,"id":"a"}"#, 1_685_952_000),
            (#"{"event":"update","content-state":{},  "stale-date":1685952000}"#, 1_685_952_000),
            (#"{"event":"update","content-state":{},"stale\u002ddate":1685952000}"#, 1_685_952_000),
            (#"{"event":"update","content-state":{},"stale-date":10000000000}"#, nil),
            (#"{"event":"update","content-state":{},"stale-date":999999999}"#, nil),
            (#"{"event":"update","content-state":{},"stale-date":0168595200}"#, nil),
            (#"{"event":"update","content-state":{},"stale-date":1685952000.0}"#, nil),
            (#"{"event":"update","content-state":{},"stale-date":1685952000e0}"#, nil),
            (#"{"event":"update","content-state":{},"stale-date":1685952000]"#, nil),
            (#"{"event":"update","content-state":{},"stale-dat":1685952000}"#, nil),
            (#"{"event":"update","content-state":{},"stale-date""#, nil),
        ] as [(String, Int64?)])
    func ordinaryAndOtherSpellings(json: String, staleDateSeconds: Int64?) throws {
        guard let staleDateSeconds else { return #expect(rejection(json) != nil) }
        #expect(try decode(json).event.staleDateSeconds == staleDateSeconds)
    }

    @Test func theLargestValueIsTaken() throws {
        func padded(_ byteCount: Int) -> String {
            let (head, tail) = (#"{"event":"update","content-state":{"a":""#, #""}}"#)
            return head + String(repeating: "a", count: byteCount - head.utf8.count - tail.utf8.count) + tail
        }
        #expect(rejection(padded(EventDecoder.valueByteCountMax)) == nil)
        #expect(
            rejection(padded(EventDecoder.valueByteCountMax + 1))
                == EventRejection(field: "value", reason: "has 16385 bytes: at most 16384 are allowed"))
    }

    @Test func nestingIsBounded() throws {
        // The event's object is the first level.
        func nested(_ depth: Int) -> String {
            #"{"event":"update","content-state":{"a":"# + String(repeating: "[", count: depth - 2)
                + String(repeating: "]", count: depth - 2) + "}}"
        }
        #expect(rejection(nested(64)) == nil)
        #expect(
            rejection(nested(65))
                == EventRejection(
                    field: "content-state",
                    reason:
                        "is not valid JSON: at byte 101 of the record's value, objects and arrays are nested more than 64 deep"
                ))
    }
}
