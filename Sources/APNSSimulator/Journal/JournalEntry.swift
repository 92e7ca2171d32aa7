public import DeviceModel

/// One thing that happened to a phone: a push it got, or what became of a token. The phones are what these make of them, in order.
public enum JournalEntry: Equatable, Sendable {
    /// A push that APNs took. `token` and `topic` as in the request, the token in lower-case hex.
    case push(atMillis: Int64, token: String, topic: String, priority: Int, body: [UInt8])
    /// What a token is from now on.
    case status(token: String, TokenStatus)
    /// `new` leads to the phone of `old` from now on, which has this status.
    case rotation(old: String, new: String, TokenStatus)
    /// A channel was made. `id` in base64, as in all that follow; `app`: a bundle id.
    case channel(atMillis: Int64, id: String, app: String, storage: ChannelStorage)
    /// A channel was deleted. What it stored still reaches phones that come back.
    case channelDeletion(atMillis: Int64, id: String)
    /// A broadcast that APNs took.
    case broadcast(atMillis: Int64, channel: String, priority: Int, expirationSeconds: Int64, body: [UInt8])
    /// An app told its phone to listen to a channel; `nil`: to none. What a `start` says is not written down again.
    case listening(token: String, channel: String?)
    /// A phone went away, or came back.
    case presence(atMillis: Int64, token: String, isOnline: Bool)
}

extension JournalEntry {
    /// Adds the entry as the journal has it: a line of words, and the body of a push behind it.
    func append(to bytes: inout [UInt8]) {
        switch self {
        case .push(let atMillis, let token, let topic, let priority, let body):
            bytes += "push \(atMillis) \(token) \(topic) \(priority) \(body.count)\n".utf8
            bytes += body
            bytes.append(UInt8(ascii: "\n"))
        case .status(let token, let status):
            bytes += "token \(token) \(status.state.rawValue) \(status.sinceMillis)\n".utf8
        case .rotation(let old, let new, let status):
            bytes += "rotate \(old) \(new) \(status.state.rawValue) \(status.sinceMillis)\n".utf8
        case .channel(let atMillis, let id, let app, let storage):
            bytes += "channel \(atMillis) \(id) \(app) \(storage.rawValue)\n".utf8
        case .channelDeletion(let atMillis, let id):
            bytes += "delete-channel \(atMillis) \(id)\n".utf8
        case .broadcast(let atMillis, let channel, let priority, let expirationSeconds, let body):
            bytes += "broadcast \(atMillis) \(channel) \(priority) \(expirationSeconds) \(body.count)\n".utf8
            bytes += body
            bytes.append(UInt8(ascii: "\n"))
        case .listening(let token, let channel):
            bytes += "listen \(token) \(channel ?? "-")\n".utf8
        case .presence(let atMillis, let token, let isOnline):
            bytes += "\(isOnline ? "online" : "offline") \(atMillis) \(token)\n".utf8
        }
    }
}
