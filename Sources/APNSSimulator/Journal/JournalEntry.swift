public import DeviceModel

/// One thing that happened to a phone: a push it got, or what became of a token. The phones are what these make of them, in order.
public enum JournalEntry: Equatable, Sendable {
    /// A push that APNs took. `token` and `topic` as in the request, the token in lower-case hex.
    case push(atMillis: Int64, token: String, topic: String, priority: Int, body: [UInt8])
    /// What a token is from now on.
    case standing(token: String, TokenStanding)
    /// `new` leads to the phone of `old` from now on, which has this standing.
    case rotation(old: String, new: String, TokenStanding)
}

extension JournalEntry {
    /// Adds the entry as the journal has it: a line of words, and the body of a push behind it.
    func append(to bytes: inout [UInt8]) {
        switch self {
        case .push(let atMillis, let token, let topic, let priority, let body):
            bytes += "push \(atMillis) \(token) \(topic) \(priority) \(body.count)\n".utf8
            bytes += body
            bytes.append(UInt8(ascii: "\n"))
        case .standing(let token, let standing):
            bytes += "token \(token) \(standing.state.rawValue) \(standing.sinceMillis)\n".utf8
        case .rotation(let old, let new, let standing):
            bytes += "rotate \(old) \(new) \(standing.state.rawValue) \(standing.sinceMillis)\n".utf8
        }
    }
}
