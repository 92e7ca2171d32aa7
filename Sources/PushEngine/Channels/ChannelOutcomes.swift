import APNSProtocol
import ChannelKeeping
import PushModel

/// Outcome records about channels that are kept: `channel-opened`, `channel-closed`, `channel-refused`. They have no
/// source position. Their keys name the audience's life, so the last record of a life counts.
enum ChannelOutcomes {
    /// Whether the news is published. That an audience gets no channel is a failure, published wherever failures are.
    static func isPublished(_ news: KeeperNews, _ publication: OutcomePublication) -> Bool {
        if case .refused = news { return true }
        return publication.includesPasses
    }

    /// `channel/<bundle id>/<audience id>/<life>/<environment>`; a bundle id has no slash.
    static func appendKey(bundleID: String, owner: KeptOwner, environment: PushEnvironment, to bytes: inout [UInt8]) {
        bytes.append(utf8: "channel/")
        bytes.append(contentsOf: bundleID.utf8)
        bytes.append(UInt8(ascii: "/"))
        bytes.append(contentsOf: owner.audience)
        bytes.append(UInt8(ascii: "/"))
        JSONBytes.appendInteger(owner.life, to: &bytes)
        bytes.append(UInt8(ascii: "/"))
        bytes.append(utf8: environment.name)
    }

    static func append(
        _ news: KeeperNews, bundleID: String, owner: KeptOwner, environment: PushEnvironment, to bytes: inout [UInt8]
    ) {
        bytes.append(utf8: "{\"outcome\":")
        JSONBytes.appendString(literal: Self.name(of: news), to: &bytes)
        bytes.append(utf8: ",\"app\":")
        JSONBytes.appendString(bundleID, to: &bytes)
        bytes.append(utf8: ",\"environment\":")
        JSONBytes.appendString(literal: environment.name, to: &bytes)
        bytes.append(utf8: ",\"audience\":")
        JSONBytes.appendString(owner.audience.span, to: &bytes)
        bytes.append(utf8: ",\"life\":")
        JSONBytes.appendInteger(owner.life, to: &bytes)
        switch news {
        case .opened(let id): Self.append(channel: id, to: &bytes)
        case .vanished(let id):
            Self.append(channel: id, to: &bytes)
            bytes.append(utf8: ",\"reason\":\"vanished\"")
        case .closed(let id):
            Self.append(channel: id, to: &bytes)
            bytes.append(utf8: ",\"reason\":\"ended\"")
        case .refused(let refusal):
            bytes.append(utf8: ",\"reason\":")
            JSONBytes.appendString(refusal.description, to: &bytes)
        }
        bytes.append(UInt8(ascii: "}"))
    }
    private static func append(channel id: [UInt8], to bytes: inout [UInt8]) {
        bytes.append(utf8: ",\"channel\":")
        JSONBytes.appendString(id.span, to: &bytes)
    }
    private static func name(of news: KeeperNews) -> StaticString {
        switch news {
        case .opened: "channel-opened"
        case .vanished, .closed: "channel-closed"
        case .refused: "channel-refused"
        }
    }
}

extension PushEnvironment {
    var name: StaticString {
        switch self {
        case .production: "production"
        case .development: "development"
        }
    }
}

extension Journal {
    /// Writes what has become of an audience's channel.
    mutating func recordChannel(
        _ news: KeeperNews, owner: KeptOwner, bundleID: String, environment: PushEnvironment, acknowledgement: UInt64
    ) {
        let keyStart = self.batch.bytes.count
        ChannelOutcomes.appendKey(
            bundleID: bundleID, owner: owner, environment: environment, to: &self.batch.bytes)
        let valueStart = self.batch.bytes.count
        ChannelOutcomes.append(
            news, bundleID: bundleID, owner: owner, environment: environment, to: &self.batch.bytes)
        self.batch.append(
            .outcomes, key: keyStart..<valueStart, value: valueStart..<self.batch.bytes.count,
            acknowledgement: acknowledgement)
    }
    /// Writes the keeper's news to an audience's owner.
    mutating func tellNews(
        _ news: BusRecord.ChannelNews, audience: [UInt8], partitionCount: Int32, acknowledgement: UInt64
    ) {
        self.writeBus(
            .channelNews, id: audience.span, to: Murmur2.partition(key: audience.span, count: partitionCount),
            acknowledgement: acknowledgement
        ) { news.write(to: &$0) }
    }
    /// Writes the wish of an audience's owner to the keeper of its app's channels.
    mutating func tellWish(
        _ wish: BusRecord.ChannelWish, audience: Span<UInt8>, to partition: Int32, acknowledgement: UInt64
    ) {
        self.writeBus(
            .channelWish, id: audience, to: partition,
            acknowledgement: acknowledgement
        ) { wish.write(to: &$0) }
    }
    /// Writes the question of a channel's partition to the keeper.
    mutating func askKeeper(
        _ question: BusRecord.KeptQuestion, channel: Span<UInt8>, at partition: Int32, acknowledgement: UInt64
    ) {
        self.writeBus(
            .keptQuestion, id: channel, to: partition,
            acknowledgement: acknowledgement
        ) { question.write(to: &$0) }
    }
    /// Writes the keeper's answer.
    mutating func answerKept(
        _ answer: BusRecord.KeptAnswer, channel: Span<UInt8>, to partition: Int32, acknowledgement: UInt64
    ) {
        self.writeBus(
            .keptAnswer, id: channel, to: partition,
            acknowledgement: acknowledgement
        ) { answer.write(to: &$0) }
    }
}
