import DeviceModel

/// Functions that make payloads, with calls short enough for a row of a table.
enum Pushes {
    static func update(_ stamp: Int64, _ state: String = #"{"n":1}"#, _ rest: String = "") -> [UInt8] {
        Array(#"{"aps":{"timestamp":\#(stamp),"event":"update","content-state":\#(state)\#(rest)}}"#.utf8)
    }

    static func end(_ stamp: Int64, _ rest: String = "") -> [UInt8] {
        Array(#"{"aps":{"timestamp":\#(stamp),"event":"end"\#(rest)}}"#.utf8)
    }

    static func start(_ stamp: Int64, _ state: String = #"{"n":0}"#, _ rest: String = "") -> [UInt8] {
        let fixed = #""attributes-type":"Pizza","attributes":{"id":7},"alert":{"title":"T","body":"B"}"#
        return Array(
            #"{"aps":{"timestamp":\#(stamp),"event":"start","content-state":\#(state),\#(fixed)\#(rest)}}"#.utf8)
    }

    static func alert(_ title: String) -> String { #","alert":{"title":"\#(title)","body":"B"}"# }
}

extension Device {
    /// Pushes valid bodies, one a second, at priority 5.
    mutating func pushAll(_ bodies: [[UInt8]]) throws -> [Reaction] {
        try bodies.enumerated().map { try self.push(body: $1, priority: 5, nowMillis: Int64($0) * 1_000) }
    }

    var content: String { String(decoding: self.contentState, as: UTF8.self) }
}

/// A seeded random generator. A failure prints its seed, which replays the test. This type copies the engine's
/// generator, so that the judge shares no code with the engine.
struct SplitMix64: RandomNumberGenerator {
    private var state: UInt64
    init(seed: UInt64) { self.state = seed }

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}
