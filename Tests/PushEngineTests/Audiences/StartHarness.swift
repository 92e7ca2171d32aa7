import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Start members of an audience, as tests drive them.
extension EngineHarness {
    static func starts(_ configure: (inout EngineConfiguration) -> Void = { _ in }) -> EngineHarness {
        AudienceTests.harness(configure)
    }

    /// Adds a push-to-start token to an audience.
    @discardableResult
    func joinStart(_ member: Int, of audience: String = "match", isCapable: Bool = false, more: String = "") -> Int64 {
        let offset = self.consume(
            key: Self.memberToken(member),
            value:
                #"{"event":"register","audience":"\#(audience)","token-type":"start","channel-capable":\#(isCapable)\#(more)}"#
        )
        self.carryBus()
        return offset
    }

    @discardableResult
    func audienceStart(
        _ n: Int, of audience: String = "match", alert: String = "kick-off", padding: Int = 0, more: String...
    ) -> Int64 {
        let offset = self.consume(
            key: audience,
            value: Self.content(
                "start", n, at: nil, priority: nil, alert: alert, padding: padding,
                more: [
                    #""to":{"audience":"\#(audience)"}"#, #""attributes-type":"Match""#, #""attributes":{"home":"A"}"#,
                ] + more))
        self.carryBus()
        return offset
    }

    /// Delivers everything that leaves within a time, step by step.
    func deliverAll(withinMillis millis: Int64, stepMillis: Int64 = 200) -> [Push] {
        var pushes = self.deliverAll()
        for _ in 0..<(millis / stepMillis) {
            self.advance(stepMillis)
            pushes += self.deliverAll()
        }
        return pushes
    }
}
