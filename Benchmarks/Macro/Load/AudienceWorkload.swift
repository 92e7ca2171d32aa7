import PushModel

/// The records of one audience. Member `i` has its own token, and all members get every event.
enum AudienceWorkload {
    static let audience = Array("match".utf8)
    /// Value of every join.
    static let join = Array(#"{"event":"register","audience":"match"}"#.utf8)
    /// Value of a join with a push-to-start token.
    static let startJoin = Array(#"{"event":"register","token-type":"start","audience":"match"}"#.utf8)
    /// An event that starts an activity for all members. Its pushes are about as long as `SampleRequest.body`.
    static let start = Array(
        #"""
        {"event":"start","priority":10,"to":{"audience":"match"},"attributes-type":"Match","attributes":{"home":"A","away":"B"},\#
        "content-state":{"score":"0:0","stage":"first half"},"alert":{"title":"Kick-off","body":"A : B"}}
        """#.utf8)
    /// An event that ends the started activities.
    static let end = Array(
        #"{"event":"end","to":{"audience":"match"},"content-state":{"score":"2:1","stage":"over"}}"#.utf8)
    /// Estimated bytes of a join in a partition of the broker, without the token: the value and Kafka's own bytes. The
    /// estimate is high. The member's record in `state` is not longer.
    private static let joinByteCount = 150

    /// Length of a token, bytes.
    enum TokenLength: Int, CaseIterable {
        /// The length of the tokens of the transport rows.
        case short = 32
        /// The length of Apple's tokens for Live Activities.
        case long = 80
    }

    /// Number of partitions at which none comes near the broker's size limit. The number is a power of two, and at
    /// least 64.
    static func partitionCount(members: Int, length: TokenLength = .short) -> Int {
        var count = 64
        while members * (self.joinByteCount + 2 * length.rawValue) > count * Workload.partitionByteCountMax {
            count *= 2
        }
        return count
    }

    /// Appends the key of a member's records: its token in hex.
    static func appendKey(_ member: Int, to bytes: inout [UInt8], length: TokenLength = .short) {
        SampleRequest.appendToken(UInt64(member), to: &bytes)
        guard length == .long else { return }
        // There are 64 digits so far. 160 digits are 80 bytes.
        SampleRequest.appendToken(UInt64(member) &+ 1, to: &bytes)
        SampleRequest.appendToken(UInt64(member) &+ 2, to: &bytes)
        bytes.removeLast(32)
    }

    /// Appends an event for all members, whose pushes have the size of `SampleRequest.body`.
    /// - Parameter number: its last digit is in the content, so that successive events differ.
    static func appendUpdate(_ number: Int, to bytes: inout [UInt8]) {
        bytes.append(contentsOf: #"{"event":"update","priority":10,"to":{"audience":"match"},"content-state":"#.utf8)
        bytes.append(contentsOf: #"{"driverName":"Anne","estimatedDeliveryTime":165941640"#.utf8)
        bytes.append(UInt8(ascii: "0") + UInt8(number % 10))
        bytes.append(contentsOf: #","stage":"baking","progress":0.425},"alert":{"title":"Delivery Update","#.utf8)
        bytes.append(contentsOf: #""body":"It is in the oven."},"relevance-score":100,"stale-date":1885959200}"#.utf8)
    }
}

extension Prefiller {
    /// Lets these members join the audience.
    func join(_ members: Range<Int>, length: AudienceWorkload.TokenLength = .short) throws {
        try self.write(members.count) { number, key, value in
            AudienceWorkload.appendKey(members.lowerBound + number, to: &key, length: length)
            value += AudienceWorkload.join
        }
    }

    /// Publishes one event for all members.
    func updateAudience(_ number: Int) throws {
        try self.write(1) { _, key, value in
            key += AudienceWorkload.audience
            AudienceWorkload.appendUpdate(number, to: &value)
        }
    }
}
