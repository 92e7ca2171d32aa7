import APNSProtocol
import ChannelKeeping
import PushModel

/// Outcome records about channels that are kept: `channel-opened`, `channel-closed`, `channel-refused`. They have no
/// source position. Their keys name the audience's life, and the last record of a key counts.
enum ChannelOutcomes {
    /// Whether the report is published as an outcome. An audience that gets no channel is a failure, and is published
    /// like other failures.
    static func isPublished(_ news: KeeperNews, _ publication: OutcomePublication) -> Bool {
        if case .refused = news { return true }
        return publication.includesPasses
    }

    /// Appends the key `channel/<bundle id>/<audience id>/<life>/<environment>`. A bundle id has no slash.
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
        JSONWriter.append(to: &bytes) { json in
            json.object { json in
                json.member("outcome", literal: Self.name(of: news))
                json.member("app", bundleID)
                json.member("environment", literal: environment.name)
                json.member("audience", utf8: owner.audience.span)
                json.member("life", owner.life)
                switch news {
                case .opened(let id): json.member("channel", utf8: id.span)
                case .vanished(let id):
                    json.member("channel", utf8: id.span)
                    json.member("reason", "vanished")
                case .closed(let id):
                    json.member("channel", utf8: id.span)
                    json.member("reason", "ended")
                case .refused(let refusal): json.member("reason", refusal.description)
                }
            }
        }
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
    /// Writes the keeper's report to an audience's owner.
    mutating func sendNews(
        _ news: BusRecord.ChannelNews, audience: [UInt8], partitionCount: Int32, acknowledgement: UInt64
    ) {
        self.writeBus(
            .channelNews, id: audience.span, to: Murmur2.partition(key: audience.span, count: partitionCount),
            acknowledgement: acknowledgement
        ) { news.write(to: &$0) }
    }
    /// Writes the wish of an audience's owner to the keeper of its app's channels.
    mutating func sendWish(
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
