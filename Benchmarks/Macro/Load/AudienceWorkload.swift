import PushModel

/// The records of one audience: member `i` has a token, and any number of events are for all.
enum AudienceWorkload {
    static let audience = Array("match".utf8)
    /// Value of every join.
    static let join = Array(#"{"event":"register","audience":"match"}"#.utf8)
    /// A join with a push-to-start token.
    static let startJoin = Array(#"{"event":"register","token-type":"start","audience":"match"}"#.utf8)
    /// An event that starts an activity for all, whose pushes are about as long as `SampleRequest.body`.
    static let start = Array(
        #"""
        {"event":"start","priority":10,"to":{"audience":"match"},"attributes-type":"Match","attributes":{"home":"A","away":"B"},\#
        "content-state":{"score":"0:0","stage":"first half"},"alert":{"title":"Kick-off","body":"A : B"}}
        """#.utf8)
    /// An event that ends it.
    static let end = Array(
        #"{"event":"end","to":{"audience":"match"},"content-state":{"score":"2:1","stage":"over"}}"#.utf8)
    /// Bytes of a join in a partition of the broker, without the token, by generous estimate: value and Kafka's own. Its record in `state` has no more.
    private static let joinByteCount = 150

    /// How long a token is, bytes.
    enum TokenLength: Int, CaseIterable {
        /// Tokens as long as those of the transport rows.
        case short = 32
        /// As Apple's of Live Activities.
        case long = 80
    }

    /// Partitions needed so that nothing nears the broker's bound; a power of two, at least 64.
    static func partitionCount(members: Int, length: TokenLength = .short) -> Int {
        var count = 64
        while members * (self.joinByteCount + 2 * length.rawValue) > count * Workload.partitionByteCountMax {
            count *= 2
        }
        return count
    }

    /// The key of a member's records: its token in hex.
    static func appendKey(_ member: Int, to bytes: inout [UInt8], length: TokenLength = .short) {
        SampleRequest.appendToken(UInt64(member), to: &bytes)
        guard length == .long else { return }
        // 64 digits so far; 160 are 80 bytes.
        SampleRequest.appendToken(UInt64(member) &+ 1, to: &bytes)
        SampleRequest.appendToken(UInt64(member) &+ 2, to: &bytes)
        bytes.removeLast(32)
    }

    /// An event for all, whose pushes have the size of `SampleRequest.body`.
    /// - Parameter number: one digit of it makes the content another each time.
    static func appendUpdate(_ number: Int, audience: String = "match", to bytes: inout [UInt8]) {
        bytes.append(contentsOf: #"{"event":"update","priority":10,"to":{"audience":""#.utf8)
        bytes.append(contentsOf: audience.utf8)
        bytes.append(contentsOf: #""},"content-state":"#.utf8)
        bytes.append(contentsOf: #"{"driverName":"Anne","estimatedDeliveryTime":165941640"#.utf8)
        bytes.append(UInt8(ascii: "0") + UInt8(number % 10))
        bytes.append(contentsOf: #","stage":"baking","progress":0.425},"alert":{"title":"Delivery Update","#.utf8)
        bytes.append(contentsOf: #""body":"It is in the oven."},"relevance-score":100,"stale-date":1885959200}"#.utf8)
    }
}

extension Prefiller {
    /// These members join the audience.
    func join(_ members: Range<Int>, length: AudienceWorkload.TokenLength = .short) throws {
        try self.write(members.count) { number, key, value in
            AudienceWorkload.appendKey(members.lowerBound + number, to: &key, length: length)
            value += AudienceWorkload.join
        }
    }

    /// One event for all members.
    func updateAudience(_ number: Int) throws {
        try self.write(1) { _, key, value in
            key += AudienceWorkload.audience
            AudienceWorkload.appendUpdate(number, to: &value)
        }
    }
}
