import APNSProtocol
import PushModel
import Testing

@Suite struct DeviceRequestTests {
    @Test func theTopicNamesThePushType() {
        let topic = DeviceRequest.topicValue(bundleID: "com.example.pizza")
        #expect(String(decoding: topic, as: UTF8.self) == "com.example.pizza.push-type.liveactivity")
    }

    @Test func prioritiesAreApples() {
        #expect("\(DeviceRequest.priorityValue(PushPriority.high))" == "10")
        #expect("\(DeviceRequest.priorityValue(PushPriority.low))" == "5")
    }
}
