import PushModel

/// The request that every client sends. Its sizes are those of a real Live Activity update.
enum SampleRequest {
    static let bundleID = "com.example.pizza"
    static let topic = "com.example.pizza.push-type.liveactivity"
    /// Number of hex digits of a device token of 32 bytes.
    static let tokenHexCount = 64
    static let expirationSeconds: Int64 = 1_900_000_000
    static let apnsID = "eabeae54-14a8-11e5-b60b-1697f925ec7b"

    /// A body of 266 bytes, as in the comparison with other clients.
    static let body =
        #"{"aps":{"timestamp":1685952000,"event":"update","content-state":{"driverName":"Anne","#
        + #""estimatedDeliveryTime":1659416400,"stage":"baking","progress":0.425},"alert":{"title":"Delivery Update","#
        + #""body":"It is in the oven."},"relevance-score":100,"stale-date":1685959200}}"#

    /// Appends the token of number `index`: hex digits of mixed numbers, then of the number itself. All tokens differ.
    static func appendToken(_ index: UInt64, to bytes: inout [UInt8]) {
        Hex.append(index &* 0x9E37_79B9_7F4A_7C15, to: &bytes)
        Hex.append(index &* 0xBF58_476D_1CE4_E5B9, to: &bytes)
        Hex.append(~index, to: &bytes)
        Hex.append(index, to: &bytes)
    }
}
