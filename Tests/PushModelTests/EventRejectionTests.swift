import PushModel
import Testing

/// Tests of the rejection for each broken rule of an event, as its author reads it (contract: What an event is).
@Suite struct EventRejectionTests {
    struct Case: CustomTestStringConvertible, Sendable {
        var json: String
        var field: String
        var reason: String
        init(_ json: String, _ field: String, _ reason: String) {
            (self.json, self.field, self.reason) = (json, field, reason)
        }
        var testDescription: String { "\(self.field) in \(self.json.prefix(60))" }
    }

    private static func update(_ fields: String) -> String { #"{"event":"update","content-state":{},\#(fields)}"# }
    private static func start(_ fields: String, to: String = #"{"start-token":"ab"}"#) -> String {
        #"{"event":"start","to":\#(to),"content-state":{},"attributes-type":"T","attributes":{},"alert":{"title":"","body":""}\#(fields)}"#
    }
    private static func alert(_ alert: String) -> String { Self.update(#""alert":\#(alert)"#) }
    private static func to(_ to: String) -> String { Self.update(#""to":\#(to)"#) }
    private static func invalid(_ index: Int, _ what: String) -> String {
        "is not valid JSON: at byte \(index) of the record's value, \(what)"
    }

    static let wholeValue = [
        Case("", "value", Self.invalid(0, "it ends too early")),
        Case(" \n", "value", Self.invalid(2, "it ends too early")),
        Case("null", "value", "is null: expected one JSON object; leave the field out when there is none"),
        Case("[]", "value", "is []: expected one JSON object"),
        Case(#""event""#, "value", #"is "event": expected one JSON object"#),
        Case("update", "value", Self.invalid(0, "a JSON value was expected")),
        Case(
            "\u{FEFF}{}", "event", "is missing: expected “register”, “unregister”, “start”, “update”, “end” or “open”"),
        Case(#"{"event":"end"} {}"#, "value", Self.invalid(16, "nothing may follow the value")),
        Case(#"{"event":"end""#, "value", Self.invalid(14, "it ends too early")),
        Case(#"{"event":"end",}"#, "value", Self.invalid(15, "a field name in quotes was expected")),
        Case(#"{,"event":"end"}"#, "value", Self.invalid(1, "a field name in quotes or “}” was expected")),
        Case(#"{"event" "end"}"#, "value", Self.invalid(9, "“:” was expected")),
        Case(#"{"event":"end" "app":"a"}"#, "value", Self.invalid(15, "“,” or the closing bracket was expected")),
        Case(#"{event:"end"}"#, "value", Self.invalid(1, "a field name in quotes or “}” was expected")),
        Case(#"{"event":end}"#, "event", Self.invalid(9, "a JSON value was expected")),
        Case("{}", "event", "is missing: expected “register”, “unregister”, “start”, “update”, “end” or “open”"),
        Case(#"{"event":"end","event":"end"}"#, "event", "is given twice"),
        Case(#"{"event":"end","\u0065vent":"end"}"#, "event", "is given twice"),
        Case(#"{"app":"a","event":"end","app":"a"}"#, "app", "is given twice"),
    ]

    static let simpleFields = [
        Case(
            #"{"event":"updates","content-state":{}}"#, "event",
            #"is "updates": expected “register”, “unregister”, “start”, “update”, “end” or “open”. Did you mean “update”?"#
        ),
        Case(
            #"{"event":"stop"}"#, "event",
            #"is "stop": expected “register”, “unregister”, “start”, “update”, “end” or “open”"#),
        Case(#"{"event":3}"#, "event", "is 3: expected the kind of the event"),
        Case(Self.update(#""app":"""#), "app", "is empty: expected an app's bundle id"),
        Case(Self.update(#""app":7"#), "app", "is 7: expected an app's bundle id"),
        Case(
            Self.update(#""app":null"#), "app",
            "is null: expected an app's bundle id; leave the field out when there is none"),
        Case(
            Self.update(#""app":"\#(String(repeating: "a", count: 256))""#), "app",
            "has 256 bytes: at most 255 are allowed"),
        Case(Self.update(#""id":12"#), "id", "is 12: expected a string"),
        Case(
            Self.update(#""id":"\#(String(repeating: "é", count: 129))""#), "id",
            "has 258 bytes: at most 256 are allowed"),
        Case(Self.update(#""priority":1"#), "priority", "is 1: expected 10, 5, “high” or “low” (1 is for channels)"),
        Case(
            Self.update(#""priority":10.0"#), "priority", "is 10.0: expected 10, 5, “high” or “low” (1 is for channels)"
        ),
        Case(
            Self.update(#""priority":"10""#), "priority",
            #"is "10": expected 10, 5, “high” or “low” (1 is for channels)"#),
        Case(
            Self.update(#""priority":true"#), "priority", "is true: expected 10, 5, “high” or “low” (1 is for channels)"
        ),
        Case(
            Self.update(#""timestamp":1685952000.5"#), "timestamp",
            "is 1685952000.5: expected whole seconds since 1970, without fraction or exponent"),
        Case(
            Self.update(#""timestamp":1685952000.0"#), "timestamp",
            "is 1685952000.0: expected whole seconds since 1970, without fraction or exponent"),
        Case(
            Self.update(#""timestamp":1.685952e9"#), "timestamp",
            "is 1.685952e9: expected whole seconds since 1970, without fraction or exponent"),
        Case(
            Self.update(#""timestamp":"1685952000""#), "timestamp",
            #"is "1685952000": expected whole seconds since 1970, a number without quotes"#),
        Case(
            Self.update(#""timestamp":"2023-06-05T08:00:00Z""#), "timestamp",
            #"is "2023-06-05T08:00:00Z": expected whole seconds since 1970, a number without quotes"#),
        Case(
            Self.update(#""timestamp":1685952000000"#), "timestamp",
            "is 1685952000000: expected whole seconds since 1970; this looks like milliseconds, divide it by 1,000"),
        Case(
            Self.update(#""timestamp":1685952000000000"#), "timestamp",
            "is 1685952000000000: expected whole seconds since 1970; this looks like microseconds, divide it by 1,000,000"
        ),
        Case(
            Self.update(#""timestamp":1685952000000000000"#), "timestamp",
            "is 1685952000000000000: expected whole seconds since 1970; this looks like nanoseconds, divide it by 1,000,000,000"
        ),
        Case(
            Self.update(#""timestamp":99999999999999999999999999"#), "timestamp",
            "is 99999999999999999999999999: expected whole seconds since 1970; this looks like nanoseconds, divide it by 1,000,000,000"
        ),
        Case(
            Self.update(#""timestamp":10000000000"#), "timestamp",
            "is 10000000000: expected whole seconds since 1970; this is after the year 2286"),
        Case(
            Self.update(#""timestamp":-1"#), "timestamp", "is -1: expected whole seconds since 1970; this is negative"),
        Case(
            Self.update(#""timestamp":821692800"#), "timestamp",
            "is 821692800: expected whole seconds since 1970; this looks like a date counted from 2001, as Swift's timeIntervalSinceReferenceDate is: add 978,307,200"
        ),
        Case(
            Self.update(#""timestamp":1483228799"#), "timestamp",
            "is 1483228799: expected whole seconds since 1970; this is before 2017, or is a date counted from 2001"),
        Case(
            Self.update(#""timestamp":1"#), "timestamp",
            "is 1: expected whole seconds since 1970; this looks like a duration, or a date counted from 2001"),
        Case(
            Self.update(#""stale-date":821692800"#), "stale-date",
            "is 821692800: expected whole seconds since 1970; this looks like a date counted from 2001, as Swift's timeIntervalSinceReferenceDate is: add 978,307,200"
        ),
        Case(
            Self.update(#""expires":821692800"#), "expires",
            "is 821692800: expected whole seconds since 1970; this looks like a date counted from 2001, as Swift's timeIntervalSinceReferenceDate is: add 978,307,200"
        ),
        Case(
            Self.update(#""timestamp":-99999999999999999999999999"#), "timestamp",
            "is -99999999999999999999999999: expected whole seconds since 1970; this is negative"),
        Case(
            Self.update(#""timestamp":01685952000"#), "timestamp",
            Self.invalid(50, "the number is not spelled as JSON allows")),
        Case(
            Self.update(#""stale-date":900"#), "stale-date",
            "is 900: expected whole seconds since 1970; this looks like a duration, or a date counted from 2001"),
        Case(
            Self.update(#""expires":0"#), "expires",
            "is 0: expected whole seconds since 1970; this looks like a duration, or a date counted from 2001"),
        Case(
            Self.update(#""expires":1685952000000"#), "expires",
            "is 1685952000000: expected whole seconds since 1970; this looks like milliseconds, divide it by 1,000"),
        Case(
            #"{"event":"end","dismissal-date":"now"}"#, "dismissal-date",
            #"is "now": expected whole seconds since 1970, a number without quotes"#),
        Case(Self.update(#""relevance-score":"high""#), "relevance-score", #"is "high": expected a number"#),
        Case(
            Self.update(#""relevance-score":1e999"#), "relevance-score", "is 1e999: expected a number a double can hold"
        ),
        Case(
            Self.update(#""relevance-score":\#(String(repeating: "9", count: 310))"#), "relevance-score",
            "is 99999999…(310 digits): expected a number a double can hold"),
        Case(#"{"event":"update","content-state":[1]}"#, "content-state", "is [1]: expected a JSON object"),
        Case(
            #"{"event":"update","content-state":"{\"driverName\":\"Anne Johnson of the harbour\"}"}"#, "content-state",
            #"is "{\"driverName\":\"Anne Johnson of the h…: expected a JSON object"#),
        Case(
            #"{"event":"update","content-state":null}"#, "content-state",
            "is null: expected a JSON object; leave the field out when there is none"),
    ]

    static let foreignFields = [
        // The field of a rejection must not be empty. `make fuzz TARGET=events SEED=1015` found this case.
        Case(
            #"{"event":"update","to":{"":1}}"#, #"to."""#,
            "is not a field of “to”: expected “activity”, “audience”, “channel”, “token”, “start-token” or “environment”"
        ),
        Case(
            #"{"event":"update","content_state":{}}"#, "content_state",
            "is not a field of an event. Did you mean “content-state”?"),
        Case(
            #"{"event":"update","contentState":{}}"#, "contentState",
            "is not a field of an event. Did you mean “content-state”?"),
        Case(
            #"{"event":"update","content-sate":{}}"#, "content-sate",
            "is not a field of an event. Did you mean “content-state”?"),
        Case(Self.update(#""staleDate":1"#), "staleDate", "is not a field of an event. Did you mean “stale-date”?"),
        Case(Self.update(#""prioritiy":1"#), "prioritiy", "is not a field of an event. Did you mean “priority”?"),
        Case(Self.update(#""evnet":1"#), "evnet", "is not a field of an event. Did you mean “event”?"),
        Case(
            Self.update(#""apns-priority":1"#), "apns-priority", "is not a field of an event. Did you mean “priority”?"),
        Case(Self.update(#""event-id":"d3""#), "event-id", "is not a field of an event. Did you mean “id”?"),
        Case(Self.update(#""eventId":"d3""#), "eventId", "is not a field of an event. Did you mean “id”?"),
        Case(Self.update(#""deviceToken":"aa""#), "deviceToken", "is not a field of an event. Did you mean “token”?"),
        Case(Self.update(#""topic":1"#), "topic", "is not a field of an event. Did you mean “app”?"),
        Case(Self.update(#""start-token":"ab""#), "start-token", "is not a field of an event: it belongs inside “to”"),
        Case(Self.update(#""sound":"ab""#), "sound", "is not a field of an event: it belongs inside “alert”"),
        Case(
            #"{"aps":{}}"#, "aps", "is not a field of an event: write the content of “aps” directly into the event"),
        Case(
            Self.update(#""colour":"red""#), "colour",
            "is not a field of an event. Fields of your own may begin with “x-”"),
        Case(Self.update(#""":1"#), #""""#, "is not a field of an event. Fields of your own may begin with “x-”"),
        Case(
            Self.update(#""\u0000\n\#(String(repeating: "é", count: 30))":1"#),
            "  \(String(repeating: "é", count: 19))…",
            "is not a field of an event. Fields of your own may begin with “x-”"),
        Case(Self.update(#""X-a":1"#), "X-a", "is not a field of an event. Fields of your own may begin with “x-”"),
    ]

    static let shapes = [
        Case(#"{"event":"update"}"#, "content-state", "is missing: “update” needs it"),
        Case(Self.update(#""dismissal-date":1"#), "dismissal-date", "does not apply to “update”: only to “end”"),
        Case(Self.start(#","dismissal-date":1"#), "dismissal-date", "does not apply to “start”: only to “end”"),
        Case(Self.update(#""attributes":{}"#), "attributes", "does not apply to “update”: only to “start”"),
        Case(#"{"event":"end","attributes-type":"T"}"#, "attributes-type", "does not apply to “end”: only to “start”"),
        Case(Self.update(#""input-push-token":1"#), "input-push-token", "does not apply to “update”: only to “start”"),
        Case(Self.update(#""token":"ab""#), "token", #"does not apply to “update”: write {"to": {"token": …}}"#),
        Case(Self.start(#","token":"ab""#), "token", #"does not apply to “start”: write {"to": {"start-token": …}}"#),
        Case(
            Self.update(#""environment":"production""#), "environment",
            "does not apply to “update”: write it inside “to”, next to the token or channel"),
        Case(
            Self.update(#""audience":"a""#), "audience", #"does not apply to “update”: write {"to": {"audience": …}}"#),
        Case(
            Self.update(#""frequent-updates":true"#), "frequent-updates",
            "does not apply to “update”: only to “register” or “unregister”"),
        Case(
            #"{"event":"register","token":"ab","content-state":{}}"#, "content-state",
            "does not apply to “register”: only to “start”, “update” or “end”"),
        Case(
            #"{"event":"unregister","to":{"activity":"a"}}"#, "to",
            "does not apply to “unregister”: only to “start”, “update”, “end” or “open”"),
        Case(
            #"{"event":"register"}"#, "token",
            "is missing: “register” needs the activity's token, or an “audience” (then the record's key is the token)"),
        Case(
            #"{"event":"start","content-state":{},"attributes-type":"T","attributes":{},"alert":{"title":"","body":""}}"#,
            "to",
            #"is missing: “start” needs {"start-token": …}, the push-to-start token, or {"audience": …}"#),
        Case(
            Self.start("", to: #"{"token":"ab"}"#), "to.token",
            "cannot start an activity: expected “start-token” or “audience”"),
        Case(
            Self.start("", to: #"{"activity":"ab"}"#), "to.activity",
            "cannot start an activity: expected “start-token” or “audience”; the key names it"),
        Case(
            Self.start("", to: #"{"channel":"ab"}"#), "to.channel",
            "cannot start an activity: broadcasts only update and end"),
        Case(
            Self.start(#","input-push-token":1,"input-push-channel":"ab""#), "input-push-channel",
            "is given with “input-push-token”: at most one is allowed"),
        Case(Self.start(#","input-push-token":true"#), "input-push-token", "is true: expected the number 1"),
        Case(Self.start(#","input-push-token":0"#), "input-push-token", "is 0: expected the number 1"),
        Case(
            Self.start(#","input-push-channel":"not base64""#), "input-push-channel",
            #"is "not base64": expected a channel id in base64, as APNs gave it"#),
        Case(
            #"{"event":"start","to":{"start-token":"ab"},"content-state":{},"attributes-type":"T","attributes":{}}"#,
            "alert",
            "is missing: “start” needs it"),
        Case(
            #"{"event":"start","to":{"start-token":"ab"},"content-state":{},"attributes-type":"T","alert":{"title":"","body":""}}"#,
            "attributes", "is missing: “start” needs it"),
        Case(
            #"{"event":"start","to":{"start-token":"ab"},"content-state":{},"attributes":{},"alert":{"title":"","body":""}}"#,
            "attributes-type", "is missing: “start” needs it"),
        Case(
            #"{"event":"start","to":{"start-token":"ab"},"attributes-type":"T","attributes":{},"alert":{"title":"","body":""}}"#,
            "content-state", "is missing: “start” needs it"),
        Case(
            #"{"event":"start","attributes-type":""}"#, "attributes-type",
            "is empty: expected the name of the attributes' Swift type"),
        Case(#"{"event":"start","attributes":"{}"}"#, "attributes", #"is "{}": expected a JSON object"#),
        Case(
            Self.to(#"{"start-token":"ab"}"#), "to.start-token",
            "starts activities only: “update” goes to “activity”, “audience”, “channel” or “token”"),
        Case(
            #"{"event":"end","to":{"start-token":"ab"}}"#, "to.start-token",
            "starts activities only: “end” goes to “activity”, “audience”, “channel” or “token”"),
        Case(
            #"{"event":"register","token":"ab","frequent-updates":1}"#, "frequent-updates",
            "is 1: expected true or false"),
        Case(
            #"{"event":"register","token":"ab","frequent-updates":"true"}"#, "frequent-updates",
            #"is "true": expected true or false"#),
    ]

    private static func join(_ fields: String) -> String { #"{"event":"register","audience":"a",\#(fields)}"# }

    static let members = [
        Case(Self.join(#""token":"ab""#), "token", "is given with “audience”: the record's key is the token"),
        Case(
            #"{"event":"unregister","token":"ab","audience":"a"}"#, "token",
            "is given with “audience”: the record's key is the token"),
        Case(#"{"event":"register","audience":""}"#, "audience", "is empty: expected an audience id"),
        Case(#"{"event":"register","audience":7}"#, "audience", "is 7: expected an audience id"),
        Case(
            #"{"event":"unregister","audience":null}"#, "audience",
            "is null: expected an audience id; leave the field out when there is none"),
        Case(
            #"{"event":"register","audience":"\#(String(repeating: "a", count: 257))"}"#, "audience",
            "has 257 bytes: at most 256 are allowed"),
        Case(
            Self.join(#""token-type":"push-to-start""#), "token-type",
            #"is "push-to-start": expected “update” or “start”"#),
        Case(Self.join(#""token-type":true"#), "token-type", "is true: expected “update” or “start”"),
        Case(Self.join(#""token-type":"start","token-type":"start""#), "token-type", "is given twice"),
        Case(
            #"{"event":"register","token":"ab","token-type":"update"}"#, "token-type",
            "is given without “audience”: only members of an audience have it"),
        Case(
            #"{"event":"unregister","token-type":"start"}"#, "token-type",
            "is given without “audience”: only members of an audience have it"),
        Case(
            Self.update(#""token-type":"start""#), "token-type",
            "does not apply to “update”: only to “register” or “unregister”"),
        Case(Self.join(#""tokenType":"start""#), "tokenType", "is not a field of an event. Did you mean “token-type”?"),
        Case(
            Self.join(#""token-type":"start","channel-capable":1"#), "channel-capable", "is 1: expected true or false"),
        Case(
            Self.join(#""channel-capable":true"#), "channel-capable",
            #"belongs to push-to-start tokens: expected "token-type": "start""#),
        Case(
            Self.join(#""channel-capable":false,"token-type":"update""#), "channel-capable",
            #"belongs to push-to-start tokens: expected "token-type": "start""#),
        Case(
            #"{"event":"register","token":"ab","channel-capable":true}"#, "channel-capable",
            "is given without “audience”: only members of an audience have it"),
        Case(
            #"{"event":"end","channel-capable":true}"#, "channel-capable",
            "does not apply to “end”: only to “register” or “unregister”"),
        Case(
            Self.join(#""token-type":"start","channel":"AAAA""#), "channel",
            "is given with “token-type” “start”: only a running activity listens on one"),
        Case(
            Self.join(#""channel":"match-7""#), "channel",
            #"is "match-7": expected a channel id in base64, as APNs gave it"#),
        Case(
            Self.join(#""channel":"\#(String(repeating: "a", count: 257))""#), "channel",
            "has 257 bytes: at most 256 are allowed"),
        Case(
            #"{"event":"register","token":"ab","channel":"AAAA"}"#, "channel",
            "is given without “audience”: only members of an audience have it"),
        Case(
            Self.update(#""channel":"AAAA""#), "channel", #"does not apply to “update”: write {"to": {"channel": …}}"#),
        Case(Self.start(#","channel":"AAAA""#), "channel", "does not apply to “start”: write “input-push-channel”"),
        Case(
            Self.start("", to: #"{"audience":"a"}"#).replacing(#""attributes":{},"#, with: ""), "attributes",
            "is missing: “start” needs it"),
        Case(
            #"{"event":"end","priority":1,"to":{"audience":"a"}}"#, "priority",
            "is 1: expected 10, 5, “high” or “low” (1 is for channels)"),
    ]

    static let targets = [
        Case(Self.to(#""a-1""#), "to", #"is "a-1": expected an object such as {"activity": id}"#),
        Case(
            Self.to("{}"), "to",
            "names no address: expected “activity”, “audience”, “channel”, “token” or “start-token”"),
        Case(
            Self.to(#"{"environment":"production"}"#), "to",
            "names no address: expected “activity”, “audience”, “channel”, “token” or “start-token”"),
        Case(
            Self.to(#"{"activity":"a","token":"ab"}"#), "to.token",
            "is given with “to.activity”: expected only one address"),
        Case(Self.to(#"{"activity":"a","activity":"a"}"#), "to.activity", "is given twice"),
        Case(
            Self.to(#"{"activity":"a","environment":"production"}"#), "to.environment",
            "is given with “activity”: expected it only next to “token”, “start-token” or “channel”"),
        Case(
            Self.to(#"{"environment":"production","audience":"a"}"#), "to.environment",
            "is given with “audience”: expected it only next to “token”, “start-token” or “channel”"),
        Case(
            Self.update(#""priority":1,"to":{"token":"ab"}"#), "priority",
            "is 1: expected 10, 5, “high” or “low” (1 is for channels)"),
        Case(
            Self.update(#""priority":1.0,"to":{"channel":"AAAA"}"#), "priority",
            "is 1.0: expected 10, 5, “high” or “low” (1 is for channels)"),
        Case(
            Self.update(#""priority":"lowest","to":{"channel":"AAAA"}"#), "priority",
            #"is "lowest": expected 10, 5, “high” or “low” (1 is for channels)"#),
        Case(
            Self.to(#"{"token":"ab","environment":"sandbox"}"#), "to.environment",
            #"is "sandbox": expected “production” or “development” (which is Apple's name for its sandbox)"#),
        Case(
            #"{"event":"register","token":"ab","environment":"prod"}"#, "environment",
            #"is "prod": expected “production” or “development”"#),
        Case(Self.to(#"{"startToken":"ab"}"#), "to.startToken", "is not a field of “to”. Did you mean “start-token”?"),
        Case(
            Self.to(#"{"device":"ab"}"#), "to.device",
            "is not a field of “to”: expected “activity”, “audience”, “channel”, “token”, “start-token” or “environment”"
        ),
        Case(Self.to(#"{"activity":""}"#), "to.activity", "is empty: expected an activity id"),
        Case(Self.to(#"{"activity":7}"#), "to.activity", "is 7: expected an activity id"),
        Case(
            Self.to(#"{"activity":"\#(String(repeating: "a", count: 257))"}"#), "to.activity",
            "has 257 bytes: at most 256 are allowed"),
        Case(Self.to(#"{"audience":""}"#), "to.audience", "is empty: expected an audience id"),
        Case(
            Self.to(#"{"channel":"===="}"#), "to.channel",
            #"is "====": expected a channel id in base64, as APNs gave it"#),
        Case(
            Self.to(#"{"channel":"a=b"}"#), "to.channel", #"is "a=b": expected a channel id in base64, as APNs gave it"#
        ),
        Case(Self.to(#"{"channel":""}"#), "to.channel", #"is "": expected a channel id in base64, as APNs gave it"#),
        Case(
            Self.to(#"{"channel":"\#(String(repeating: "a", count: 257))"}"#), "to.channel",
            "has 257 bytes: at most 256 are allowed"),
        Case(
            Self.to(#"{"token":"abc"}"#), "to.token",
            "has 3 hexadecimal digits: expected an even number; it may have been cut off"),
        Case(Self.to(#"{"token":""}"#), "to.token", "is empty: expected hexadecimal digits"),
        Case(
            Self.to(#"{"token":"3q2+7w=="}"#), "to.token",
            "is not hexadecimal at character 2 of 8: expected the digits 0-9 and a-f only, not base64 and without spaces or brackets"
        ),
        Case(
            Self.to(#"{"token":"<ab cd>"}"#), "to.token",
            "is not hexadecimal at character 1 of 7: expected the digits 0-9 and a-f only, not base64 and without spaces or brackets"
        ),
        Case(
            Self.to(#"{"token":[1,2]}"#), "to.token", "is no string but array: expected a token in hexadecimal digits"),
        Case(
            #"{"event":"register","token":"\#(String(repeating: "ab", count: 257))"}"#, "token",
            "has 514 hexadecimal digits: at most 512 are allowed"),
    ]

    static let alerts = [
        Case(Self.alert("nul"), "alert", Self.invalid(45, "a JSON value was expected")),
        Case(Self.alert(#"null,"alert":null"#), "alert", "is given twice"),
        Case(
            Self.start("").replacing(#"{"title":"","body":""}"#, with: "null"), "alert",
            "is null: expected an object with “title” and “body”, because there is nothing yet that it could withdraw"),
        Case(
            #"{"event":"register","token":"ab","alert":null}"#, "alert",
            "does not apply to “register”: only to “start”, “update” or “end”"),
        Case(Self.alert(#""Goal!""#), "alert", #"is "Goal!": expected an object with “title” and “body”"#),
        Case(Self.alert("{}"), "alert.title", "is missing: an alert needs “title” and “body”"),
        Case(Self.alert(#"{"title":"a"}"#), "alert.body", "is missing: an alert needs “title” and “body”"),
        Case(Self.alert(#"{"body":"a","sound":"s"}"#), "alert.title", "is missing: an alert needs “title” and “body”"),
        Case(Self.alert(#"{"title":"a","title":"a"}"#), "alert.title", "is given twice"),
        Case(
            Self.alert(#"{"title":1}"#), "alert.title", #"is 1: expected a string or {"loc-key": …, "loc-args": […]}"#),
        Case(Self.alert(#"{"title":{}}"#), "alert.title.loc-key", "is missing: expected the name of a localized text"),
        Case(
            Self.alert(#"{"title":{"loc-args":[]}}"#), "alert.title.loc-key",
            "is missing: expected the name of a localized text"),
        Case(
            Self.alert(#"{"body":{"loc-key":""}}"#), "alert.body.loc-key",
            "is empty: expected the name of a localized text"),
        Case(Self.alert(#"{"body":{"loc-key":"k","loc-key":"k"}}"#), "alert.body.loc-key", "is given twice"),
        Case(Self.alert(#"{"body":{"loc-args":[],"loc-args":[]}}"#), "alert.body.loc-args", "is given twice"),
        Case(
            Self.alert(#"{"body":{"loc-args":["a",5]}}"#), "alert.body.loc-args", "is 5: expected an array of strings"),
        Case(
            Self.alert(#"{"body":{"loc-args":"a"}}"#), "alert.body.loc-args", #"is "a": expected an array of strings"#),
        Case(
            Self.alert(#"{"body":{"loc-args":["a",]}}"#), "alert.body.loc-args",
            Self.invalid(70, "a JSON value was expected")),
        Case(
            Self.alert(#"{"body":{"loc-args":["a" "b"]}}"#), "alert.body.loc-args",
            Self.invalid(70, "“,” or the closing bracket was expected")),
        Case(
            Self.alert(#"{"title":{"key":"k"}}"#), "alert.title.key",
            "is not a field of “alert.title”: expected “loc-key” or “loc-args”"),
        Case(
            Self.alert(#"{"title":{"locKey":"k"}}"#), "alert.title.locKey",
            "is not a field of “alert.title”. Did you mean “loc-key”?"),
        Case(
            Self.alert(#"{"title-loc-key":"k"}"#), "alert.title-loc-key",
            #"belongs to ordinary notifications: a Live Activity takes {"title": {"loc-key": …, "loc-args": […]}}"#),
        Case(
            Self.alert(#"{"loc-args":[]}"#), "alert.loc-args",
            #"belongs to ordinary notifications: a Live Activity takes {"body": {"loc-key": …, "loc-args": […]}}"#),
        Case(Self.alert(#"{"tilte":"k"}"#), "alert.tilte", "is not a field of “alert”. Did you mean “title”?"),
        Case(
            Self.alert(#"{"subtitle":"k"}"#), "alert.subtitle",
            "is not a field of “alert”: expected “title”, “body” or “sound”"),
        Case(Self.alert(#"{"x-a":1}"#), "alert.x-a", "is not a field of “alert”: expected “title”, “body” or “sound”"),
        Case(Self.alert(#"{"sound":""}"#), "alert.sound", "is empty: expected a file's name or “default”"),
        Case(Self.alert(#"{"sound":1}"#), "alert.sound", "is 1: expected a file's name or “default”"),
    ]

    @Test(arguments: [wholeValue, simpleFields, foreignFields, shapes, members, targets, alerts].flatMap { $0 })
    func rejections(example: Case) {
        #expect(rejection(example.json) == EventRejection(field: example.field, reason: example.reason))
    }

    @Test func noRejectionShowsAToken() {
        let token = String(repeating: "c0ffee42", count: 20)
        let broken = [
            #"{"event":"register","token":"\#(token)a"}"#, #"{"event":"register","token":"\#(token)g0"}"#,
            #"{"event":"register","token":["\#(token)"]}"#, #"{"event":"register","token":{"hex":"\#(token)"}}"#,
            Self.update(#""to":{"token":"\#(token)0"}"#),
            #"{"event":"register","token":"\#(token)","environment":"x"}"#,
            #"{"event":"register","audience":"a","token":"\#(token)"}"#,
        ]
        for json in broken {
            let found = rejection(json)
            #expect(found != nil)
            #expect(found?.reason.contains("c0ffee") == false)
        }
    }
}
