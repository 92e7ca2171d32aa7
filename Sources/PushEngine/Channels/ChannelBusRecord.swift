import APNSProtocol
import ChannelKeeping
import PushModel

/// What a keeper, the owners of audiences and the partitions of channels tell each other through `routed` (fan-out contract: The keeper). Values are version 1, as all
/// of `BusRecord`.
extension BusRecord {
    /// An owner tells the keeper what it wants for a life of its audience. The key is the audience's id.
    struct ChannelWish: Equatable {
        enum Demand: Equatable {
            /// A channel that keeps such messages.
            case open(MessageStoragePolicy)
            /// The life has ended; what is to be broadcast again. Empty: nothing is.
            case ended(content: [UInt8])
            /// The life is forgotten.
            case voided
        }
        var bundleID: [UInt8] = []
        var environment = PushEnvironment.production
        var life: Int64 = 0
        var demand = Demand.voided
    }
    /// The keeper tells an owner. The key is the audience's id.
    struct ChannelNews: Equatable {
        var bundleID: [UInt8] = []
        var environment = PushEnvironment.production
        var life: Int64 = 0
        var news = KeeperNews.refused(.lifeIsOver)
    }

    /// A refusal's reason, as Apple spells it, is no longer.
    static let reasonByteCountMax = 256

    static func byteCountMax(_ wish: borrowing ChannelWish) -> Int {
        let content = if case .ended(let content) = wish.demand { content.count } else { 0 }
        return 6 * ByteCursor.leb128ByteCountMax + wish.bundleID.count + content
    }
    static func byteCountMax(_ news: borrowing ChannelNews) -> Int {
        8 * ByteCursor.leb128ByteCountMax + news.bundleID.count + KeptChannelCodec.idByteCountMax
            + Self.reasonByteCountMax
    }

    // MARK: Writing
    static func write(_ wish: borrowing ChannelWish, to writer: inout ByteCursor) {
        Self.writeHead(wish.bundleID, wish.environment, to: &writer)
        writer.signed(wish.life)
        switch wish.demand {
        case .open(let policy):
            writer.byte(1)
            writer.byte(policy == .mostRecent ? 1 : 0)
        case .ended(let content):
            writer.byte(2)
            writer.run(content.span)
        case .voided: writer.byte(3)
        }
    }
    static func write(_ news: borrowing ChannelNews, to writer: inout ByteCursor) {
        Self.writeHead(news.bundleID, news.environment, to: &writer)
        writer.signed(news.life)
        switch news.news {
        case .opened(let id):
            writer.byte(1)
            writer.run(id.span)
        case .vanished(let id):
            writer.byte(2)
            writer.run(id.span)
        case .closed(let id):
            writer.byte(3)
            writer.run(id.span)
        case .refused(let refusal):
            writer.byte(4)
            Self.write(refusal, to: &writer)
        }
    }
    private static func write(_ refusal: KeeperRefusal, to writer: inout ByteCursor) {
        switch refusal {
        case .quota(let count, let quota):
            writer.byte(1)
            writer.unsigned(UInt64(count))
            writer.unsigned(UInt64(quota.countMax))
        case .byAPNs(let status, let reason):
            writer.byte(2)
            writer.unsigned(UInt64(status))
            writer.run(Array(reason.utf8.prefix(Self.reasonByteCountMax)).span)
        case .full(let max):
            writer.byte(3)
            writer.unsigned(UInt64(max))
        case .tooManyWaiting(let max):
            writer.byte(4)
            writer.unsigned(UInt64(max))
        case .lifeIsOver: writer.byte(5)
        }
    }
    static func writeHead(
        _ bundleID: [UInt8], _ environment: PushEnvironment, to writer: inout ByteCursor
    ) {
        writer.byte(Self.version)
        writer.run(bundleID.span)
        writer.byte(environment.rawValue)
    }

    // MARK: Reading
    static func readChannelWish(_ value: Span<UInt8>) throws(StateError) -> ChannelWish {
        var reader = StateReader(value)
        let head = try Self.readChannelHead(&reader)
        var wish = ChannelWish(
            bundleID: head.bundleID, environment: head.environment, life: try StateCodec.readSeconds(&reader))
        switch try reader.byte() {
        case 1:
            let storage = try reader.byte()
            guard storage < 2 else { throw .malformed("a wish for storage \(storage)") }
            wish.demand = .open(storage == 1 ? .mostRecent : .none)
        case 2: wish.demand = .ended(content: try reader.run(byteCountMax: KeptChannelCodec.endByteCountMax))
        case 3: wish.demand = .voided
        case let demand: throw .malformed("a wish of kind \(demand)")
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind a wish") }
        return wish
    }
    static func readChannelNews(_ value: Span<UInt8>) throws(StateError) -> ChannelNews {
        var reader = StateReader(value)
        let head = try Self.readChannelHead(&reader)
        var news = ChannelNews(
            bundleID: head.bundleID, environment: head.environment, life: try StateCodec.readSeconds(&reader))
        switch try reader.byte() {
        case 1: news.news = .opened(id: try KeptChannelCodec.readID(&reader))
        case 2: news.news = .vanished(id: try KeptChannelCodec.readID(&reader))
        case 3: news.news = .closed(id: try KeptChannelCodec.readID(&reader))
        case 4: news.news = .refused(try Self.readRefusal(&reader))
        case let kind: throw .malformed("news of kind \(kind)")
        }
        guard reader.isAtEnd else { throw .malformed("bytes behind news") }
        return news
    }
    private static func readRefusal(_ reader: inout StateReader) throws(StateError) -> KeeperRefusal {
        switch try reader.byte() {
        case 1:
            let count = try Self.readCount(&reader)
            return .quota(count: count, quota: ChannelQuota(countMax: try Self.readCount(&reader)))
        case 2:
            guard let status = UInt16(exactly: try reader.unsigned()) else { throw .malformed("a status over 65,535") }
            let reason = try reader.run(byteCountMax: Self.reasonByteCountMax)
            return .byAPNs(status: status, reason: String(decoding: reason, as: UTF8.self))
        case 3: return .full(keptMax: try Self.readCount(&reader))
        case 4: return .tooManyWaiting(waitingMax: try Self.readCount(&reader))
        case 5: return .lifeIsOver
        case let reason: throw .malformed("a refusal for reason \(reason)")
        }
    }
    /// Of channels, or of audiences.
    private static func readCount(_ reader: inout StateReader) throws(StateError) -> Int {
        let count = try reader.unsigned()
        guard count <= UInt64(Int32.max) else { throw .malformed("\(count) channels") }
        return Int(count)
    }
    static func readChannelHead(
        _ reader: inout StateReader
    ) throws(StateError) -> (bundleID: [UInt8], environment: PushEnvironment) {
        let bundleID = try Self.readHead(&reader)
        let environment = try reader.byte()
        guard let environment = PushEnvironment(rawValue: environment) else {
            throw .malformed("environment \(environment)")
        }
        return (bundleID, environment)
    }
}
