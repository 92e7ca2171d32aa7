import APNSProtocol
import PushModel
import Testing

@Suite struct DeviceRequestTests {
    private static func written(_ write: (inout [UInt8]) -> Void) -> String {
        var bytes: [UInt8] = []
        write(&bytes)
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test func thePathEndsInTheToken() {
        let token = Array("00ffab".utf8)
        #expect(Self.written { DeviceRequest.appendPath(tokenHex: token.span, to: &$0) } == "/3/device/00ffab")
    }

    @Test func theTopicNamesThePushType() {
        let topic = DeviceRequest.topicValue(bundleID: "com.example.pizza")
        #expect(String(decoding: topic, as: UTF8.self) == "com.example.pizza.push-type.liveactivity")
    }

    @Test func theIDIsALowerCaseUUID() {
        #expect(
            Self.written { DeviceRequest.appendID((0x0123_4567_89AB_4DEF, 0x8123_4567_89AB_CDEF), to: &$0) }
                == "01234567-89ab-4def-8123-456789abcdef")
        #expect(Self.written { DeviceRequest.appendID((0, 0), to: &$0) } == "00000000-0000-0000-0000-000000000000")
    }

    @Test func numbers() {
        #expect(Self.written { DeviceRequest.appendExpiration(0, to: &$0) } == "0")
        #expect(Self.written { DeviceRequest.appendExpiration(1_700_000_900, to: &$0) } == "1700000900")
        #expect("\(DeviceRequest.priorityValue(.high))" == "10")
        #expect("\(DeviceRequest.priorityValue(.low))" == "5")
    }
}
