/// Bodies of a start's pushes, made once for all members that get the same body.
struct StartBodies {
    /// The body for phones that can listen on a channel, and the body for others.
    private var capable: [UInt8] = []
    private var plain: [UInt8] = []
    /// The bodies for phones that are told to listen on a channel: at most one per environment.
    private var channels: [(id: [UInt8], body: [UInt8])] = []

    /// Appends the body for a phone.
    /// - Parameter channel: the channel on which phones that can listen are told to listen; empty: none.
    mutating func append(
        _ order: borrowing StartOrder, newest: Version?, isChannelCapable: Bool, channel: [UInt8],
        to body: inout [UInt8]
    ) {
        if isChannelCapable, !channel.isEmpty {
            if let made = self.channels.first(where: { $0.id == channel }) {
                return body.append(contentsOf: made.body)
            }
            var made: [UInt8] = []
            order.appendBody(newest: newest, isChannelCapable: true, channel: channel, to: &made)
            if self.channels.count >= 2 { self.channels = [] }
            self.channels.append((channel, made))
            body.append(contentsOf: made)
        } else if isChannelCapable {
            if self.capable.isEmpty { order.appendBody(newest: newest, isChannelCapable: true, to: &self.capable) }
            body.append(contentsOf: self.capable)
        } else {
            if self.plain.isEmpty { order.appendBody(newest: newest, isChannelCapable: false, to: &self.plain) }
            body.append(contentsOf: self.plain)
        }
    }
}
