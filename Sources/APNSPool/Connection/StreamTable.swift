import PushModel

/// The requests in flight on the connections of one pool, in an array indexed by tag. Each connection has a list of its
/// requests in order of departure. So the next request to time out is always the first in a list. The table allocates
/// memory only while it grows, up to `streamsMax`.
struct StreamTable: Sendable {
    struct Stream: Sendable {
        enum State: UInt8, Sendable {
            case free
            /// The tag is reserved for a request that is being filled.
            case reserved
            case inFlight
            /// The push was reported as timed out, but the session still has its stream.
            case abandoned
        }
        var push = PushID(rawValue: 0)
        var beganMicros: Int64 = 0
        var streamID: Int32 = 0
        var connection: Int32 = 0
        var tokenGeneration: UInt32 = 0
        /// Tags of the neighbours in the connection's list; `none` at the ends. `next` of a free entry is the next free
        /// entry.
        var previous: Int32 = StreamTable.none
        var next: Int32 = StreamTable.none
        var state = State.free
        /// Index of the push's app.
        var app: UInt16 = 0
    }

    static let none: Int32 = -1

    let streamsMax: Int
    private(set) var streams: [Stream] = []
    private(set) var inUse = 0
    /// Number of open streams whose push was reported as timed out.
    private(set) var abandonedCount = 0
    private var firstFree = StreamTable.none
    private var first: [Int32]
    private var last: [Int32]

    /// - Parameter streamsMax: maximum number of tags in use. At most 2^31 - 1.
    init(connectionCount: Int, streamsMax: Int) {
        self.streamsMax = min(streamsMax, Int(Int32.max))
        self.first = Array(repeating: Self.none, count: connectionCount)
        self.last = Array(repeating: Self.none, count: connectionCount)
    }

    /// A tag for a request on `connection`; `nil` when the table is full.
    mutating func reserve(connection: Int) -> UInt32? {
        let index: Int
        if self.firstFree != Self.none {
            index = Int(self.firstFree)
            self.firstFree = self.streams[index].next
        } else {
            guard self.streams.count < self.streamsMax else { return nil }
            index = self.streams.count
            self.streams.append(Stream())
        }
        self.streams[index].connection = Int32(connection)
        self.streams[index].previous = Self.none
        self.streams[index].next = Self.none
        self.streams[index].state = .reserved
        self.inUse += 1
        return UInt32(index)
    }

    /// Remembers the request that left with a reserved tag.
    mutating func began(
        _ tag: UInt32, push: PushID, app: UInt16, streamID: Int32, tokenGeneration: UInt32, micros: Int64
    ) {
        let index = Int(tag)
        self.streams[index].app = app
        self.streams[index].push = push
        self.streams[index].streamID = streamID
        self.streams[index].tokenGeneration = tokenGeneration
        self.streams[index].beganMicros = micros
        self.streams[index].state = .inFlight
        let connection = Int(self.streams[index].connection)
        let before = self.last[connection]
        self.streams[index].previous = before
        if before == Self.none {
            self.first[connection] = Int32(index)
        } else {
            self.streams[Int(before)].next = Int32(index)
        }
        self.last[connection] = Int32(index)
    }

    /// The oldest request in flight on a connection.
    func oldest(connection: Int) -> UInt32? {
        let index = self.first[connection]
        return index == Self.none ? nil : UInt32(index)
    }

    /// The stream of a tag; `nil` when the tag is not in use on that connection.
    func stream(_ tag: UInt32, connection: Int) -> Stream? {
        guard tag < self.streams.count else { return nil }
        let stream = self.streams[Int(tag)]
        guard stream.state != .free, stream.connection == connection else { return nil }
        return stream
    }

    /// Removes a push that has timed out from its connection's list. Its tag stays in use, because its stream is still
    /// open.
    mutating func abandon(_ tag: UInt32) {
        self.unlink(Int(tag))
        self.streams[Int(tag)].state = .abandoned
        self.abandonedCount += 1
    }

    /// Frees the tag of a stream that has ended.
    mutating func release(_ tag: UInt32) {
        let index = Int(tag)
        switch self.streams[index].state {
        case .inFlight: self.unlink(index)
        case .abandoned: self.abandonedCount -= 1
        case .free, .reserved: break
        }
        self.streams[index].state = .free
        self.streams[index].next = self.firstFree
        self.firstFree = Int32(index)
        self.inUse -= 1
    }

    /// Tags still in use on a connection, including those of pushes that have timed out. Goes through the whole table,
    /// so call it only for a connection that has ended.
    func tags(connection: Int) -> [UInt32] {
        self.streams.indices.filter { self.streams[$0].state != .free && self.streams[$0].connection == connection }.map
        { UInt32($0) }
    }

    private mutating func unlink(_ index: Int) {
        let (previous, next) = (self.streams[index].previous, self.streams[index].next)
        let connection = Int(self.streams[index].connection)
        if previous == Self.none { self.first[connection] = next } else { self.streams[Int(previous)].next = next }
        if next == Self.none { self.last[connection] = previous } else { self.streams[Int(next)].previous = previous }
        self.streams[index].previous = Self.none
        self.streams[index].next = Self.none
    }
}
