import APNSProtocol
import HTTP2Session
import Testing

@testable import APNSSimulator

/// Tests of the documents that `POST /faults` accepts, and of the messages about documents that it refuses.
@Suite struct FaultDocumentTests {
    static let known: [(json: String, meaning: String)] = [
        (#"{"kind":"answer","status":500}"#, "\(FaultDocument.fault(Fault(.answer(status: 500, reason: ""))))"),
        (
            #"{"kind":"answer","reason":"Unregistered","timestampMillis":1760000000123,"retryAfterSeconds":9}"#,
            "\(FaultDocument.fault(Fault(.answer(status: 410, reason: "Unregistered", timestampMillis: 1_760_000_000_123, retryAfterSeconds: 9))))"
        ),
        (
            #"{"kind":"answer","status":502,"body":"<html>"}"#,
            "\(FaultDocument.fault(Fault(.answerRaw(status: 502, body: Array("<html>".utf8)))))"
        ),
        (
            #"{"kind":"stall","applied":true,"rate":0.25,"count":3,"skip":2,"token":"0A","connection":4}"#,
            "\(FaultDocument.fault(Fault(.stall(applied: true), rate: 0.25, count: 3, skip: 2, tokenPrefix: "0A", connection: 4)))"
        ),
        (
            #"{"kind":"reset","code":"REFUSED_STREAM"}"#,
            "\(FaultDocument.fault(Fault(.reset(.refusedStream, applied: false))))"
        ),
        (#"{"kind":"cut"}"#, "\(FaultDocument.fault(Fault(.cut(applied: false))))"),
        (
            #"{"kind":"goaway","reason":"Shutdown","below":2,"closes":false}"#,
            "\(FaultDocument.fault(Fault(.goAway(GoAway(reason: "Shutdown", lastStream: .below(highestBy: 2), closes: false)))))"
        ),
        (
            #"{"kind":"latency","millis":50,"jitterMillis":10}"#,
            "\(FaultDocument.latency(Latency(fixedMillis: 50, jitterMillis: 10)))"
        ),
        (
            #"{"kind":"channel-id","id":"no-base64!","request":"create"}"#,
            "\(FaultDocument.fault(Fault(.channelID(Array("no-base64!".utf8)), kind: .createChannel)))"
        ),
        (#"{"kind":"list-lag","millis":30000}"#, "\(FaultDocument.listLag(millis: 30_000))"),
        (#"{"kind":"refuse","on":false}"#, "\(FaultDocument.refuse(false))"),
        (#"{"kind":"streams","max":1}"#, "\(FaultDocument.streams(1))"),
        (
            #"{"kind":"now","action":"goaway","code":"ENHANCE_YOUR_CALM","lastStream":5,"connection":2}"#,
            "\(FaultDocument.action(.goAway(GoAway(errorCode: .enhanceYourCalm, lastStream: .id(5))), connection: 2))"
        ),
        (
            #"{"kind":"now","action":"settings","maxConcurrentStreams":1,"headerTableSize":0}"#,
            "\(FaultDocument.action(.settings(HTTP2SettingsChange(concurrentStreamsMax: 1, headerTableByteCount: 0)), connection: nil))"
        ),
        (#"{"kind":"now","action":"cut-mid-record"}"#, "\(FaultDocument.action(.cutMidRecord, connection: nil))"),
        (
            #"{"kind":"goaway","current":true}"#,
            "\(FaultDocument.fault(Fault(.goAway(GoAway(lastStream: .current)))))"
        ),
        (#"{"kind":"mute"}"#, "\(FaultDocument.mute(true))"),
        (
            #"{"kind":"odd","status":999,"apnsId":false,"bodyBytes":3,"emptyFrames":2,"ending":"reset","code":"CANCEL","applied":true}"#,
            "\(FaultDocument.fault(Fault(.odd(OddAnswer(status: 999, sendsMessageID: false, body: [120, 120, 120], emptyFrameCount: 2, ending: .reset(.cancel), applied: true)))))"
        ),
        (
            #"{"kind":"odd","body":"<","ending":"stall"}"#,
            "\(FaultDocument.fault(Fault(.odd(OddAnswer(body: [60], ending: .stall)))))"
        ),
        (
            #"{"kind":"then","action":"reset","rate":0.5,"connection":3}"#,
            "\(FaultDocument.fault(Fault(.then(.reset), rate: 0.5, connection: 3)))"
        ),
        (
            #"{"kind":"now","action":"slow-reads","bytesPerSecond":7,"connection":2}"#,
            "\(FaultDocument.action(.slowReads(bytesPerSecond: 7), connection: 2))"
        ),
        (#"{"kind":"now","action":"starve"}"#, "\(FaultDocument.action(.starve, connection: nil))"),
        (#"{"kind":"now","action":"resume"}"#, "\(FaultDocument.action(.resume, connection: nil))"),
        (
            #"{"kind":"now","action":"frames","which":"push-promise"}"#,
            "\(FaultDocument.action(.frames(.pushPromise), connection: nil))"
        ),
        (#"{"kind":"now","action":"silence"}"#, "\(FaultDocument.action(.silence, connection: nil))"),
    ]

    @Test(arguments: Self.known)
    func knownDocumentsAreRead(json: String, meaning: String) throws {
        #expect("\(try FaultDocument.read(Array(json.utf8)))" == meaning)
    }

    static let refused: [(json: String, words: String)] = [
        ("", "the body must be one JSON object"),
        (#"{"kind":["a"]}"#, "the body must be one JSON object"),
        ("{}", "'kind' is missing"),
        (#"{"kind":7}"#, "'kind' must be a string"),
        (#"{"kind":"anser"}"#, "'kind' is 'anser'. Known: answer"),
        (#"{"kind":"answer"}"#, "'status' is missing"),
        (#"{"kind":"answer","status":99}"#, "'status' must be a whole number from 200 to 599"),
        (#"{"kind":"answer","status":200.5}"#, "'status' must be a whole number"),
        (#"{"kind":"answer","status":500,"reason":"a\"b"}"#, "'reason' must be a word"),
        (#"{"kind":"answer","reason":"Shutdown","body":"x"}"#, "'body' and 'reason' exclude"),
        (#"{"kind":"stall","applied":1}"#, "'applied' must be true or false"),
        (#"{"kind":"stall","rate":2}"#, "'rate' must be a number from 0 to 1"),
        (#"{"kind":"stall","count":0}"#, "'count' must be a whole number from 1"),
        (#"{"kind":"stall","token":"xyz"}"#, "'token' must be the first hex digits"),
        (#"{"kind":"stall","tokens":"00"}"#, "unknown key 'tokens'"),
        (#"{"kind":"reset","code":"OOPS"}"#, "'code' is 'OOPS'. Known: NO_ERROR"),
        (#"{"kind":"goaway","below":1,"lastStream":1}"#, "'below' and 'lastStream' exclude"),
        (#"{"kind":"goaway","current":true,"below":1}"#, "'current' and 'below' exclude"),
        (#"{"kind":"goaway","debug":"a","reason":"b"}"#, "'debug' and 'reason' exclude"),
        (#"{"kind":"latency","millis":3600001}"#, "'millis' must be a whole number from 0 to 3600000"),
        (#"{"kind":"list-lag"}"#, "'millis' is missing"),
        (#"{"kind":"list-lag","millis":-1}"#, "'millis' must be a whole number from 0"),
        (#"{"kind":"streams"}"#, "'max' is missing"),
        (#"{"kind":"now"}"#, "'action' is missing"),
        (#"{"kind":"now","action":"explode"}"#, "'action' is 'explode'"),
        (#"{"kind":"now","action":"settings"}"#, "no setting given"),
        (#"{"kind":"now","action":"slow-reads"}"#, "'bytesPerSecond' is missing"),
        (#"{"kind":"now","action":"frames"}"#, "'which' is missing. Known: empty"),
        (#"{"kind":"now","action":"frames","which":"x"}"#, "'which' is 'x'. Known: empty"),
        (#"{"kind":"odd","status":1000}"#, "'status' must be a whole number from 100 to 999"),
        (#"{"kind":"odd","ending":"cut"}"#, "'ending' is 'cut'. Known: complete"),
        (#"{"kind":"odd","body":"a","bodyBytes":1}"#, "'body' and 'bodyBytes' exclude"),
        (#"{"kind":"now","action":"settings","maxFrameSize":1}"#, "'maxFrameSize' must be a whole number from 16384"),
    ]

    @Test(arguments: Self.refused)
    func whatIsWrongIsNamed(json: String, words: String) {
        do {
            _ = try FaultDocument.read(Array(json.utf8))
            Issue.record("it was read")
        } catch {
            #expect(error.text.contains(words), "\(error.text)")
        }
    }

    @Test(arguments: [
        (#"{"state":"gone"}"#, "'state' is 'gone'"), ("{}", "'state' is missing"),
        (#"{"state":"dead","to":"00"}"#, "'to' belongs"),
        (#"{"state":"dead","sinceMillis":-1}"#, "'sinceMillis' must be"),
    ])
    func tokenDocumentsAreChecked(json: String, words: String) {
        do {
            _ = try TokenDocument.read(Array(json.utf8))
            Issue.record("it was read")
        } catch {
            #expect(error.text.contains(words), "\(error.text)")
        }
    }
}
