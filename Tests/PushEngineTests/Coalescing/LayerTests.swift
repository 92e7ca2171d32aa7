@testable import PushEngine
import PushModel
import Testing

@Suite struct LayerTests {
    private static func layer(content: String, alert: String = "", id: String = "") -> Layer {
        var layer = Layer()
        layer.content.contentState = layer.append(Array(content.utf8).span)
        layer.alert = layer.append(Array(alert.utf8).span)
        layer.eventID = layer.append(Array(id.utf8).span)
        return layer
    }

    private static func text(_ range: ByteRange, of layer: Layer) -> String {
        String(decoding: layer.blob[range.range], as: UTF8.self)
    }

    /// A layer takes over an alert for each attempt and drops it afterwards. The bytes must not pile up, or the state
    /// record would outgrow what a restore reads.
    @Test func whatIsTakenOverAndGivenBackLeavesNothing() {
        let older = Self.layer(content: "{}", alert: String(repeating: "A", count: 1_800))
        var newer = Self.layer(content: #"{"n":2}"#, id: "event-2")
        for _ in 0..<100 {
            newer.dropUncoveredBytes()
            newer.inherit(from: older)
            #expect(Self.text(newer.alert, of: newer).count == 1_800)
            newer.dropInherited(olderThan: .max)
        }
        #expect(newer.blob.count <= 1_800 + 14)
        #expect(Self.text(newer.content.contentState, of: newer) == #"{"n":2}"#)
        #expect(Self.text(newer.eventID, of: newer) == "event-2")
        #expect(newer.alert.isEmpty)
    }

    /// A layer takes over an older layer's parts and drops them again, many times. The layer's parts are then exactly
    /// as before. `fold` does this when two layers do not fit together.
    @Test func whatIsTakenBackIsAsItWas() {
        let oldest = Self.layer(content: "{}", alert: #"{"title":"first"}"#)
        let older = Self.layer(content: "{}", alert: String(repeating: "A", count: 1_800))
        var newer = Self.layer(content: #"{"n":2}"#, id: "event-2")
        newer.inherit(from: oldest)
        for _ in 0..<100 {
            newer.dropUncoveredBytes()
            let own = newer.parts
            newer.dropInherited(olderThan: .max)
            newer.inherit(from: older)
            newer.parts = own
            #expect(Self.text(newer.alert, of: newer) == #"{"title":"first"}"#)
            #expect(Self.text(newer.content.contentState, of: newer) == #"{"n":2}"#)
            #expect(Self.text(newer.eventID, of: newer) == "event-2")
        }
        #expect(newer.blob.count <= 1_800 + 31)
    }
}
