import ChannelKeeping
import PushModel

/// The question of a channel's partition to the keeper of the app's channels, and the keeper's answer (fan-out
/// contract: Mixed audiences). The question leaves before the channel's first broadcast. Events that are sent straight
/// to a kept channel are rejected. The key of both records is the channel's id.
extension BusRecord {
    struct KeptQuestion: Equatable {
        var bundleID: [UInt8] = []
        var environment = PushEnvironment.production
        /// Partition of the channel's slot, where the answer goes.
        var partition: Int32 = 0

        func write(to writer: inout ByteCursor) {
            BusRecord.writeHead(self.bundleID, to: &writer)
            writer.byte(self.environment.rawValue)
            writer.signed(Int64(self.partition))
        }
    }
    struct KeptAnswer: Equatable {
        var bundleID: [UInt8] = []
        var environment = PushEnvironment.production
        /// Whether the channel is one of the keeper's.
        var isKept = false
        /// The audience that the channel is kept for; empty: it is kept for none, or for one that is not known yet.
        var audience: [UInt8] = []

        func write(to writer: inout ByteCursor) {
            BusRecord.writeHead(self.bundleID, to: &writer)
            writer.byte(self.environment.rawValue)
            writer.byte(self.isKept ? 1 : 0)
            if self.isKept { writer.run(self.audience.span) }
        }
    }
}

extension BusRecord.KeptQuestion {
    init(_ value: Span<UInt8>) throws(StateError) {
        var reader = StateReader(value)
        self.bundleID = try BusRecord.readHead(&reader)
        self.environment = try StateCodec.readEnvironment(&reader)
        self.partition = try StateCodec.readPartition(&reader)
        guard self.partition >= 0 else { throw .malformed("a partition number") }
        try reader.checkEnd(behind: "a question about a channel")
    }
}

extension BusRecord.KeptAnswer {
    init(_ value: Span<UInt8>) throws(StateError) {
        var reader = StateReader(value)
        self.bundleID = try BusRecord.readHead(&reader)
        self.environment = try StateCodec.readEnvironment(&reader)
        switch try reader.byte() {
        case 0: break
        case 1:
            self.isKept = true
            self.audience = try reader.run(byteCountMax: KeptChannelCodec.audienceByteCountMax)
        case let kind: throw .malformed("an answer of kind \(kind) about a channel")
        }
        try reader.checkEnd(behind: "an answer about a channel")
    }
}
