import APNSProtocol
import ChannelKeeping
import PushModel

/// Keys and values of `state` records about kept channels, as a keeper writes them.
enum KeptRecordBytes {
    static let bundleID = "com.example.pizza"

    static func key(_ number: Int64, _ environment: PushEnvironment = .production, app: String = bundleID) -> [UInt8] {
        KeptChannelKey(bundleID: app, environment: environment, number: number).bytes
    }

    static func value(_ channel: KeptChannel) -> [UInt8] {
        var scratch: [UInt8] = []
        var bytes: [UInt8] = []
        bytes.append(using: &scratch) {
            KeptChannelCodec.write(channel, epoch: 0, to: &$0)
        }
        return bytes
    }

    /// A kept channel in `phase`. With an `audience`, the channel belongs to the audience's first life.
    static func channel(
        _ phase: KeptChannel.Phase, id: String = "", audience: String? = nil, sinceMillis: Int64 = 1_000
    ) -> KeptChannel {
        var channel = KeptChannel(
            owner: audience.map { KeptOwner(audience: Array($0.utf8), life: 1) }, policy: .none, phase: phase,
            sinceMillis: sinceMillis)
        channel.id = Array(id.utf8)
        channel.openedMillis = id.isEmpty ? 0 : sinceMillis
        if phase == .ended { channel.endedMillis = sinceMillis }
        return channel
    }
}
