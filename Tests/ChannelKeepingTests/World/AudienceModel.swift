import APNSProtocol
import ChannelKeeping

/// What an audience's owner says to the keeper, in the log of `routed`. A keeper reads it from the first message that
/// is not resolved.
enum OwnerMessage {
    case open(KeptOwner, MessageStoragePolicy)
    case ended(KeptOwner, content: [UInt8])
    case voided(KeptOwner)
}

/// One audience: lives that begin, end and are forgotten, and an owner that asks until it is answered.
struct AudienceModel {
    enum Stage { case none, alive, ended }
    let name: [UInt8]
    let policy: MessageStoragePolicy
    var life: Int64 = 0
    var stage = Stage.none
    /// Channel that the keeper has named to the owner in this life.
    var channel: [UInt8]?
    var refusals = 0

    var owner: KeptOwner { KeptOwner(audience: self.name, life: self.life) }
    var endContent: [UInt8] { Array("end of ".utf8) + self.name + Array("/\(self.life)".utf8) }
}

/// What the judge remembers about the end of one life.
struct EndedLife {
    var id: [UInt8]
    var endedMillis: Int64
    var expectsBeacons: Bool
    var content: [UInt8]
    var beaconMillis: [Int64] = []
    /// Whether a keeper ended, or the clock stepped, while the channel lingered.
    var wasDisturbed = false
}
