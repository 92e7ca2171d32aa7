import PushModel

/// Bytes that a publisher's serializer puts before or around its events.
extension SimulationWorld {
    /// The framing of events in this world. It is drawn with a separate generator, so that worlds without framed events
    /// do not change.
    struct Framing {
        var random: SplitMix64
        /// Percentage of well-formed events that are framed.
        let percent: Int

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0xF2A3_E5F2_A3E5_F2A3)
            self.percent = [0, 0, 0, 0, 0, 0, 20, 100].randomElement(using: &self.random)!
        }

        /// The bytes that the publisher writes for an event's JSON.
        mutating func framed(_ value: String, number: Int) -> [UInt8] {
            guard self.percent > 0, Int.random(in: 0..<100, using: &self.random) < self.percent else {
                return Array(value.utf8)
            }
            switch Int.random(in: 0..<3, using: &self.random) {
            case 0: return [0, 0, 0, 0, 7] + Array(value.utf8)
            case 1: return Array("\u{FEFF}\(value)".utf8)
            default:
                return Array(
                    #"{"specversion":"1.0","id":"ce-\#(number)","source":"/s","type":"t","data":\#(value)}"#.utf8)
            }
        }
    }
}
