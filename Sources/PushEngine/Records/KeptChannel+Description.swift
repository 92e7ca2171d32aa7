import APNSProtocol
import ChannelKeeping

/// Describes the record of a kept channel for tools. `ChannelKeeping` writes and reads it.
extension KeptChannel {
    /// - Parameters:
    ///   - key: of the record.
    ///   - epoch: as the record says.
    func described(key: KeptChannelKey, epoch: Int64) -> StateRecordDescription.KeptChannel {
        .init(
            epoch: epoch, environment: "\(key.environment)", number: key.number, phase: "\(self.phase)",
            sinceMillis: self.sinceMillis, isAnnounced: self.isAnnounced, storage: self.policy.name,
            id: self.id.isEmpty ? nil : String(decoding: self.id, as: UTF8.self),
            openedMillis: self.openedMillis == 0 ? nil : self.openedMillis,
            audience: self.owner.map { String(decoding: $0.audience, as: UTF8.self) }, audienceLife: self.owner?.life,
            endedMillis: self.endedMillis, beaconsSent: self.beaconsSent, endByteCount: self.end.count)
    }
}
