import APNSSimulator
import DeviceModel

/// Collects what the simulator's journal says about channels: what each channel published, and when each phone listened
/// and was reachable.
///
/// The journal has all entries in the order in which they happened, but their times may be equal or slightly out of
/// order. So each entry gets a millisecond of its own here, later than the entry before it and not before its own time.
/// The order then decides what reached a phone.
struct ChaosListeners {
    /// One broadcast that APNs took.
    struct Broadcast: Equatable {
        /// When APNs took the broadcast, milliseconds since 1970, by the clock of APNs.
        var atMillis: Int64
        /// `apns-expiration`, seconds since 1970. 0 means that only reachable phones get it.
        var expirationSeconds: Int64
        /// `aps.timestamp`. `nil` means that no phone can read it.
        var stampSeconds: Int64?
        var isEnd = false
        /// Reaction of a phone that was always reachable and listening. `nil` means that it could not read the
        /// broadcast.
        var reaction: Device.Reaction?
    }

    struct Channel {
        var history: ChannelHistory
        var broadcasts: [Broadcast] = []
        /// A phone that was always reachable and listening.
        var witness = Device()
    }

    struct Listener {
        /// Id of the channel, base64.
        var channel: String
        var history: ListenerHistory
    }

    /// Channels by id.
    private(set) var channels: [String: Channel] = [:]
    /// Listeners by token. When a phone begins to listen again, its new history replaces the old one.
    private(set) var listeners: [String: Listener] = [:]
    private var clockMillis: Int64 = 0

    /// Number of broadcasts that APNs took.
    var broadcastCount: Int { self.channels.values.reduce(0) { $0 + $1.broadcasts.count } }

    /// Takes the next entry of the journal.
    mutating func take(_ entry: JournalEntry) {
        switch entry {
        case .push, .status, .rotation, .channelDeletion: break
        case .channel(let atMillis, let id, _, let storage):
            self.tick(atMillis)
            self.channels[id] = Channel(history: ChannelHistory(storage: storage))
        case .broadcast(let atMillis, let id, let priority, let expirationSeconds, let body):
            self.tick(atMillis)
            self.broadcast(
                Broadcast(atMillis: atMillis, expirationSeconds: expirationSeconds), priority: priority, body: body,
                to: id)
        case .listening(let token, let channel):
            self.tick(0)
            if let channel {
                self.listeners[token] = Listener(
                    channel: channel, history: ListenerHistory(beganMillis: self.clockMillis))
            } else {
                self.listeners[token]?.history.stop(atMillis: self.clockMillis)
            }
        case .presence(let atMillis, let token, let isOnline):
            self.tick(atMillis)
            if isOnline {
                self.listeners[token]?.history.comeBack(atMillis: self.clockMillis)
            } else {
                self.listeners[token]?.history.leave(atMillis: self.clockMillis)
            }
        }
    }

    private mutating func tick(_ atMillis: Int64) { self.clockMillis = max(self.clockMillis + 1, atMillis) }

    private mutating func broadcast(_ broadcast: Broadcast, priority: Int, body: [UInt8], to id: String) {
        guard var channel = self.channels[id] else { return }
        var broadcast = broadcast
        channel.history.publish(
            body: body, priority: priority, atMillis: self.clockMillis, expirationSeconds: broadcast.expirationSeconds)
        if let content = try? PayloadReader.read(body.span) {
            broadcast.stampSeconds = content.stampSeconds
            broadcast.isEnd = content.event == .end
            broadcast.reaction = channel.witness.apply(
                content, body: body.span, priority: priority, nowMillis: self.clockMillis, rules: .phone)
        }
        channel.broadcasts.append(broadcast)
        self.channels[id] = channel
    }
}
