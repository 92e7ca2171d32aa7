import PushModel
import Testing

@testable import PushEngine

/// Tests the body of a push that starts a card.
@Suite struct StartOrderTests {
    private static let channel = Array("dHN0LXNyY2gtY2hubA==".utf8)

    private static func order(fillerByteCount: Int) -> StartOrder {
        var order = StartOrder()
        (order.life, order.stampSeconds, order.expiresSeconds) = (1, 1_700_000_000, 1_700_000_900)
        let filler = String(repeating: "x", count: fillerByteCount)
        func text(_ text: String) -> ByteRange { order.layer.append(Array(text.utf8).span) }
        order.layer.isStart = true
        order.layer.content.attributesType = text(#""Match""#)
        order.layer.content.attributes = text(#"{"home":"\#(filler)"}"#)
        order.layer.content.contentState = text(#"{"n":1}"#)
        order.layer.alert = text(#"{"title":"t","body":"b"}"#)
        return order
    }
    private static func body(_ order: StartOrder, isChannelCapable: Bool, channel: [UInt8] = []) -> String {
        var body: [UInt8] = []
        order.appendBody(newest: nil, isChannelCapable: isChannelCapable, channel: channel, to: &body)
        return String(decoding: body, as: UTF8.self)
    }

    /// An added channel never makes a start larger than APNs takes. If the channel does not fit, the start asks for a
    /// token instead, if that fits.
    @Test func whatIsAddedFits() {
        var kinds: Set<String> = []
        for fillerByteCount in 3_800...4_000 {
            let order = Self.order(fillerByteCount: fillerByteCount)
            let plain = Self.body(order, isChannelCapable: false)
            guard plain.utf8.count <= PayloadWriter.payloadByteCountMax else { break }
            let added = Self.body(order, isChannelCapable: true, channel: Self.channel)
            #expect(added.utf8.count <= PayloadWriter.payloadByteCountMax)
            let room = PayloadWriter.payloadByteCountMax - plain.utf8.count
            let hasChannel = added.contains(#""input-push-channel":"dHN0LXNyY2gtY2hubA==""#)
            let asksForToken = added.contains(#""input-push-token":1"#)
            #expect(hasChannel == (room >= #","input-push-channel":"dHN0LXNyY2gtY2hubA==""#.utf8.count))
            #expect(asksForToken == (!hasChannel && room >= #","input-push-token":1"#.utf8.count))
            kinds.insert(hasChannel ? "channel" : asksForToken ? "token" : "neither")
        }
        #expect(kinds == ["channel", "token", "neither"])
    }
}
