import APNSProtocol
import ChannelKeeping

/// A message of an audience's owner to the keeper, in the log of `routed`. A new keeper reads the log from the first
/// unresolved message.
enum OwnerMessage {
    case open(KeptOwner, MessageStoragePolicy)
    case ended(KeptOwner, content: [UInt8])
    case voided(KeptOwner)
}

/// One audience and its owner. Its lives begin, end and are voided. The owner asks for a channel until it has one.
struct AudienceModel {
    enum Stage { case none, alive, ended }
    let name: [UInt8]
    let policy: MessageStoragePolicy
    var life: Int64 = 0
    var stage = Stage.none
    /// The channel that the keeper has announced to the owner in this life.
    var channel: [UInt8]?
    var refusals = 0

    var owner: KeptOwner { KeptOwner(audience: self.name, life: self.life) }
    var endContent: [UInt8] { Array("end of ".utf8) + self.name + Array("/\(self.life)".utf8) }
}

/// The judge's notes about the end of one life.
struct EndedLife {
    var id: [UInt8]
    var endedMillis: Int64
    var expectsBeacons: Bool
    var content: [UInt8]
    var beaconMillis: [Int64] = []
    /// Whether a keeper has crashed since the life ended.
    var wasDisturbed = false
}
