public import DeviceModel

/// One thing that happened to a phone, a token or a channel. The phones are the result of all entries, in order.
public enum JournalEntry: Equatable, Sendable {
    /// A phone got a push that APNs had accepted. A push that waits for its phone has an entry when the phone is back.
    /// `token` and `topic` are as in the request, the token in lower-case hex.
    case push(atMillis: Int64, token: String, topic: String, priority: Int, body: [UInt8])
    /// The token has this state from now on.
    case status(token: String, TokenStatus)
    /// `new` leads to the phone of `old` from now on, and `old` has this state.
    case rotation(old: String, new: String, TokenStatus)
    /// A channel was made. `id` is base64, as in all cases below; `app` is a bundle id.
    case channel(atMillis: Int64, id: String, app: String, storage: ChannelStorage)
    /// A channel was deleted. Its stored message still reaches phones that return.
    case channelDeletion(atMillis: Int64, id: String)
    /// APNs accepted a broadcast.
    case broadcast(atMillis: Int64, channel: String, priority: Int, expirationSeconds: Int64, body: [UInt8])
    /// An app made its phone listen to a channel; `nil` for none. If a `start` makes the app listen, there is no such
    /// entry.
    case listening(token: String, channel: String?)
    /// A phone went away, or returned.
    case presence(atMillis: Int64, token: String, isOnline: Bool)
}

extension JournalEntry {
    /// Appends the entry as in the journal: a line of words, followed by the body if the entry is a push or a
    /// broadcast.
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
