import PushModel

/// What the owner of an audience keeps of its channels (fan-out contract: A channel kept for an audience): at most one in each environment, for one life. Written at the end of its book.
struct AudienceChannels {
    enum Standing: UInt8 {
        /// The keeper has been asked for one, or will be.
        case wanted = 1
        /// The keeper has opened it.
        case open
        /// APNs calls it gone. The keeper will find that out.
        case dead
    }
    struct Channel {
        var environment: PushEnvironment
        var standing = Standing.wanted
        /// As APNs spells it; empty before the first has been opened. While another is wanted, that of the one that has vanished.
        var id: [UInt8] = []
        /// Members that listen get the newest version by broadcast. Otherwise by their tokens, and phones without a token by what `isCatchingUp` says.
        var serves = false
        /// The newest version that APNs has taken on it, and the newest whose alert it has, or whose alert tokens bring in its place.
        var takenStampSeconds: Int64 = 0
        var takenAlertStampSeconds: Int64 = 0
        /// APNs has not taken a version within `channel.fallback`, and none since: five minutes after that, wall milliseconds; 0: it has. Former
        /// releases broadcast nothing before that time; here it only matters whether there is one.
        var byTokenUntilMillis: Int64 = 0
        /// The keeper has been told that the life is over.
        var isEndTold = false

        // Not written down.
        /// When the keeper is asked again, steady.
        var wishAtMillis = Int64.min
        /// Since when a version waits to be broadcast, steady; `nil`: none does.
        var dueMillis: Int64?
        /// When the last broadcast left, and before when the next does not, steady.
        var sentMillis: Int64?
        var notBeforeMillis = Int64.min
        /// A broadcast waits for a connection, or for its answer.
        var isUnderWay = false
        /// Versions up to that may have arrived though APNs was not heard to take them: they are sent again at low priority.
        var triedStampSeconds: Int64 = 0
        var attempt: UInt8 = 0
        var throttleSteps: UInt8 = 0
        /// The stamp of a version that goes both ways, whose broadcast has a unit of the budget for itself; 0: there is none.
        var highStampSeconds: Int64 = 0
        /// An alert up to that may have been shown by a broadcast without an answer, and is not repeated.
        var droppedAlertStampSeconds: Int64 = 0
        /// Until when an alert of an older version waits for the tokens of the newest, steady; `nil`: it does not.
        var tokensFirstUntilMillis: Int64?

        /// APNs has not taken what was broadcast: members that listen are served by their tokens. What is newest is tried all the same, until it is
        /// taken, for phones that listen and have no token.
        var isCatchingUp: Bool { self.standing == .open && !self.serves && self.byTokenUntilMillis != 0 }
        /// What is newest is broadcast on it.
        var isTried: Bool { self.serves || self.isCatchingUp }
        /// It has not had that alert by broadcast. Whoever has a token may have had it by that: what goes both ways goes under the same stamp.
        func owes(_ alert: Version) -> Bool {
            guard self.isCatchingUp else { return self.serves && alert.stampSeconds > self.takenAlertStampSeconds }
            return alert.stampSeconds > max(self.takenStampSeconds, self.droppedAlertStampSeconds)
        }

        init(environment: PushEnvironment) { self.environment = environment }
    }
    /// As the keeper knows it: seconds since 1970, only grows. That of versions, unless the keeper has known a later one.
    var life: Int64 = 0
    /// Grows with each change of which channels there are and which of them serve.
    var turn: UInt32 = 0
    /// Environments in which partitions have members, one bit each.
    var environments: UInt8 = 0
    var all: [Channel] = []
    /// The newest version with an alert that some channel has not had: one element, or none.
    var alerts: [Version] = []
    /// `turn` has changed since partitions were told. Not written down: a new owner tells them again.
    var isTurnUntold = false

    /// There is nothing to be written down.
    var isBlank: Bool { self.life == 0 && self.environments == 0 && self.turn == 0 }
    var alert: Version? { self.alerts.first }

    func index(_ environment: PushEnvironment) -> Int? { self.all.firstIndex { $0.environment == environment } }
    static func bit(_ environment: PushEnvironment) -> UInt8 { environment == .production ? 1 : 2 }

    /// What a version says of them.
    var declared: [VersionChannel] {
        self.all.filter { !$0.id.isEmpty }.map {
            VersionChannel(
                environment: $0.environment, id: $0.id, serves: $0.serves, isOpen: $0.standing == .open,
                takenStampSeconds: $0.takenStampSeconds, takenAlertStampSeconds: $0.takenAlertStampSeconds)
        }
    }
    mutating func noteTurn() {
        self.turn &+= 1
        self.isTurnUntold = true
    }
    /// An alert that every channel has had is kept no longer.
    mutating func dropAlert(nowSeconds: Int64) {
        guard let alert = self.alerts.first else { return }
        let isOwed = self.all.contains { $0.owes(alert) }
        if !isOwed || alert.isExpired(nowSeconds: nowSeconds) { self.alerts = [] }
    }
}

/// A channel of an audience as a version tells of it.
struct VersionChannel: Equatable {
    var environment: PushEnvironment
    var id: [UInt8]
    /// Members that listen on it get the version by broadcast.
    var serves: Bool
    /// Phones may be told to listen on it.
    var isOpen: Bool
    /// Who listens has had versions, and alerts, up to these; alerts perhaps by token.
    var takenStampSeconds: Int64
    var takenAlertStampSeconds: Int64
}

// MARK: - Records

extension AudienceChannels {
    private enum Flag {
        static let serves: UInt8 = 4
        static let isEndTold: UInt8 = 8
        static let isDevelopment: UInt8 = 16
    }
    var byteCountMax: Int {
        var count = 4 * ByteCursor.leb128ByteCountMax
        for channel in self.all { count += 6 * ByteCursor.leb128ByteCountMax + channel.id.count }
        for alert in self.alerts { count += AudienceCodec.byteCountMax(alert) }
        return count
    }
    func write(topicHashes: [UInt32], to writer: inout ByteCursor) {
        writer.signed(self.life)
        writer.unsigned(UInt64(self.turn))
        writer.byte(self.environments)
        writer.byte(UInt8(self.all.count) | (self.alerts.isEmpty ? 0 : 4))
        for channel in self.all {
            writer.byte(
                channel.standing.rawValue | (channel.serves ? Flag.serves : 0)
                    | (channel.isEndTold ? Flag.isEndTold : 0)
                    | (channel.environment == .development ? Flag.isDevelopment : 0))
            writer.run(channel.id.span)
            writer.signed(channel.takenStampSeconds)
            writer.signed(channel.takenAlertStampSeconds)
            writer.signed(channel.byTokenUntilMillis)
        }
        if let alert = self.alerts.first { AudienceCodec.write(alert, topicHashes: topicHashes, to: &writer) }
    }
    init(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        self.life = try StateCodec.readSeconds(&reader)
        self.turn = try Self.readTurn(&reader)
        self.environments = try reader.byte()
        guard self.environments < 4 else { throw .malformed("environments \(self.environments) of an audience") }
        let head = try reader.byte()
        guard head & 3 <= 2, head < 8 else { throw .malformed("\(head) channels of an audience") }
        for _ in 0..<(head & 3) {
            let flags = try reader.byte()
            guard flags < 32, let standing = Standing(rawValue: flags & 3) else {
                throw .malformed("flags \(flags) of an audience's channel")
            }
            var channel = Channel(environment: flags & Flag.isDevelopment == 0 ? .production : .development)
            channel.standing = standing
            channel.serves = flags & Flag.serves != 0
            channel.isEndTold = flags & Flag.isEndTold != 0
            channel.id = try reader.run(byteCountMax: VersionChannel.idByteCountMax)
            channel.takenStampSeconds = try StateCodec.readSeconds(&reader)
            channel.takenAlertStampSeconds = try StateCodec.readSeconds(&reader)
            channel.byTokenUntilMillis = try StateCodec.readMillis(&reader)
            self.all.append(channel)
        }
        if head & 4 != 0 {
            self.alerts = [try AudienceCodec.readVersion(&reader, topicHashes: topicHashes, now: now)]
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind an audience's channels") }
    }
    static func readTurn(_ reader: inout StateReader) throws(StateError) -> UInt32 {
        guard let turn = UInt32(exactly: try reader.unsigned()) else { throw .malformed("a turn over 32 bits") }
        return turn
    }
}

extension VersionChannel {
    /// A header field has to hold it.
    static let idByteCountMax = 2_048
    /// One in each environment.
    static let countMax: UInt64 = 2

    static func byteCountMax(_ channels: [VersionChannel]) -> Int {
        channels.reduce(3 * ByteCursor.leb128ByteCountMax) {
            $0 + $1.id.count + 4 * ByteCursor.leb128ByteCountMax
        }
    }
    static func write(_ channels: [VersionChannel], turn: UInt32, to writer: inout ByteCursor) {
        writer.unsigned(UInt64(turn))
        writer.unsigned(UInt64(channels.count))
        for channel in channels {
            writer.byte(
                (channel.environment == .development ? 1 : 0) | (channel.serves ? 2 : 0) | (channel.isOpen ? 4 : 0))
            writer.run(channel.id.span)
            writer.signed(channel.takenStampSeconds)
            writer.signed(channel.takenAlertStampSeconds)
        }
    }
    static func read(_ reader: inout StateReader) throws(StateError) -> (turn: UInt32, channels: [VersionChannel]) {
        let turn = try AudienceChannels.readTurn(&reader)
        let count = try reader.unsigned()
        guard count <= Self.countMax else { throw .malformed("a version on \(count) channels") }
        var channels: [VersionChannel] = []
        for _ in 0..<count {
            let flags = try reader.byte()
            guard flags < 8 else { throw .malformed("flags \(flags) of a version's channel") }
            channels.append(
                VersionChannel(
                    environment: flags & 1 == 0 ? .production : .development,
                    id: try reader.run(byteCountMax: Self.idByteCountMax), serves: flags & 2 != 0,
                    isOpen: flags & 4 != 0, takenStampSeconds: try StateCodec.readSeconds(&reader),
                    takenAlertStampSeconds: try StateCodec.readSeconds(&reader)))
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind a version's channels") }
        return (turn, channels)
    }
}
