import ChannelKeeping
import PushModel

extension BusRecord {
    /// The keeper's report on an audience's channel, sent to the audience's owner (fan-out contract: The keeper). The
    /// key is the audience's id.
    struct ChannelNews: Equatable {
        var bundleID: [UInt8] = []
        var environment = PushEnvironment.production
        var life: Int64 = 0
        var news = KeeperNews.refused(.lifeIsOver)

        func write(to writer: inout ByteCursor) {
            BusRecord.writeHead(self.bundleID, to: &writer)
            writer.byte(self.environment.rawValue)
            writer.signed(self.life)
            switch self.news {
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
                refusal.write(to: &writer)
            }
        }
    }
}

extension BusRecord.ChannelNews {
    init(_ value: Span<UInt8>) throws(StateError) {
        var reader = StateReader(value)
        self.bundleID = try BusRecord.readHead(&reader)
        self.environment = try StateCodec.readEnvironment(&reader)
        self.life = try StateCodec.readSeconds(&reader)
        switch try reader.byte() {
        case 1: self.news = .opened(id: try KeptChannelCodec.readID(&reader))
        case 2: self.news = .vanished(id: try KeptChannelCodec.readID(&reader))
        case 3: self.news = .closed(id: try KeptChannelCodec.readID(&reader))
        case 4: self.news = .refused(try KeeperRefusal(&reader))
        case let kind: throw .malformed("news of kind \(kind)")
        }
        try reader.checkEnd(behind: "news")
    }
}

extension KeeperRefusal {
    /// Maximum length of a refusal's reason, as Apple spells it.
    static let reasonByteCountMax = 256
    private static let countMax = Int(Int32.max)

    fileprivate func write(to writer: inout ByteCursor) {
        switch self {
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
    fileprivate init(_ reader: inout StateReader) throws(StateError) {
        switch try reader.byte() {
        case 1:
            let count = try reader.count(atMost: Self.countMax, "channels")
            let quota = ChannelQuota(countMax: try reader.count(atMost: Self.countMax, "channels"))
            self = .quota(count: count, quota: quota)
        case 2:
            guard let status = UInt16(exactly: try reader.unsigned()) else { throw .malformed("a status over 65,535") }
            let reason = try reader.run(byteCountMax: Self.reasonByteCountMax)
            self = .byAPNs(status: status, reason: String(decoding: reason, as: UTF8.self))
        case 3: self = .full(keptMax: try reader.count(atMost: Self.countMax, "channels"))
        case 4: self = .tooManyWaiting(waitingMax: try reader.count(atMost: Self.countMax, "channels"))
        case 5: self = .lifeIsOver
        case let reason: throw .malformed("a refusal for reason \(reason)")
        }
    }
}
