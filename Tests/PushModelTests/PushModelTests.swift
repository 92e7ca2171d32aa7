import PushModel
import Testing

@Suite struct EventDecoderExamples {
    @Test func contractExample() throws {
        let value = Array(
            """
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
            """.utf8)
        var event = DecodedEvent()
        try EventDecoder.decode(value.span, into: &event)
        #expect(event.kind == .update)
        #expect(event.priority == .high)
        #expect(event.timestampSeconds == 1_685_952_000)
        #expect(String(decoding: value[event.alertInValue.range], as: UTF8.self).hasPrefix("{\"title\""))
        #expect(String(decoding: event.text[event.appInText.range], as: UTF8.self) == "com.example.pizza")
    }
}
