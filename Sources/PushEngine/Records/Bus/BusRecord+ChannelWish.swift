import APNSProtocol
import ChannelKeeping
import PushModel

extension BusRecord {
    /// What the owner of an audience wants for a life, sent to the keeper (fan-out contract: The keeper). The key is
    /// the audience's id.
    struct ChannelWish: Equatable {
        enum Demand: Equatable {
            /// A channel that keeps messages by this policy is wanted.
            case open(MessageStoragePolicy)
            /// The life has ended. `content` has to be broadcast again, unless it is empty.
            case ended(content: [UInt8])
            /// The life is forgotten.
            case voided
        }
        var bundleID: [UInt8] = []
        var environment = PushEnvironment.production
        var life: Int64 = 0
        var demand = Demand.voided

        func write(to writer: inout ByteCursor) {
            BusRecord.writeHead(self.bundleID, to: &writer)
            writer.byte(self.environment.rawValue)
            writer.signed(self.life)
            switch self.demand {
            case .open(let policy):
                writer.byte(1)
                writer.byte(policy == .mostRecent ? 1 : 0)
            case .ended(let content):
                writer.byte(2)
                writer.run(content.span)
            case .voided: writer.byte(3)
            }
        }
    }
}

extension BusRecord.ChannelWish {
    init(_ value: Span<UInt8>) throws(StateError) {
        var reader = StateReader(value)
        self.bundleID = try BusRecord.readHead(&reader)
        self.environment = try StateCodec.readEnvironment(&reader)
        self.life = try StateCodec.readSeconds(&reader)
        switch try reader.byte() {
        case 1:
            let storage = try reader.byte()
            guard storage < 2 else { throw .malformed("a wish for storage \(storage)") }
            self.demand = .open(storage == 1 ? .mostRecent : .none)
        case 2: self.demand = .ended(content: try reader.run(byteCountMax: KeptChannelCodec.endByteCountMax))
        case 3: self.demand = .voided
        case let demand: throw .malformed("a wish of kind \(demand)")
        }
        try reader.checkEnd(behind: "a wish")
    }
}
