import DeviceModel
import PushInspection
import PushModel
import Testing

@testable import DevPage

/// Tests of finding whether the app's code could decode a push.
struct SchemaBookTests {
    private static let type =
        "struct Pizza: ActivityAttributes { struct ContentState { var minutes: Int }; var order: String }"

    private static func body(_ aps: String) -> [UInt8] { Array(#"{"aps":{"timestamp":1795600000,\#(aps)}}"#.utf8) }

    private static func start(_ type: String, _ attributes: String, minutes: String = "1") -> [UInt8] {
        self.body(
            #""event":"start","attributes-type":"\#(type)","attributes":\#(attributes),"content-state":{"minutes":\#(minutes)},"alert":{"title":"a","body":"b"}"#
        )
    }

    /// A type may come from `curl`, so the note does not say that somebody typed it into the page.
    @Test func theNoteSaysThatTheTypeWasGivenToThePage() {
        #expect(
            DevRouter.note(decoder: "The phones decode", kind: "Swift type")
                == "The phones decode from now on by a Swift type that was given to the page.")
    }

    /// The attributes and the content of a start are judged. An update has only content.
    @Test(arguments: [
        (Self.start("Pizza", #"{"order":"7"}"#), nil as String?),
        (Self.start("Order", #"{"order":"7"}"#), "attributes-type is the string"),
        (Self.start("Pizza", "{}"), "“attributes.order” is missing"),
        (Self.start("Pizza", #"{"order":"7"}"#, minutes: "true"), "“minutes” is true"),
        (Self.body(#""event":"update","content-state":{"minutes":1}"#), nil),
        (Self.body(#""event":"update","content-state":{}"#), "“minutes” is missing"),
    ])
    func theFirstFaultOfAPushIsNamed(body: [UInt8], fault: String?) throws {
        let book = SchemaBook()
        let content = try PayloadReader.read(body.span)
        #expect(book.fault(in: content, of: body.span, app: { "" }) == nil, "nobody gave a type")
        book.set(try GivenSchema(Array(Self.type.utf8), origin: "page"), app: nil)
        let found = book.fault(in: content, of: body.span, app: { "" })
        #expect((found == nil) == (fault == nil) && found?.hasPrefix(fault ?? "") != false, "\(found ?? "no fault")")
    }
}
