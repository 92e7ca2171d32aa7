/// Bodies of a start's pushes, made once for all members that get the same body.
struct StartBodies {
    /// The body for phones that can listen on a channel while there is no channel for them; empty: not made.
    private var capable: [UInt8] = []
    /// The body for phones that cannot listen on a channel; empty: not made.
    private var plain: [UInt8] = []
    /// The bodies that ask phones to listen on a channel: at most two are kept.
    private var channels: [(id: [UInt8], body: [UInt8])] = []

    /// Whether the body for these phones and this channel has been made.
    /// - Parameters:
    ///   - isChannelCapable: whether the phones can listen on a channel.
    ///   - channel: the channel that phones are asked to listen on; empty: none.
    @inline(__always) func has(isChannelCapable: Bool, channel: [UInt8]) -> Bool {
        guard isChannelCapable else { return !self.plain.isEmpty }
        return channel.isEmpty ? !self.capable.isEmpty : self.channels.contains { $0.id == channel }
    }
    /// Makes the body for phones that can listen on a channel, or for the others.
    mutating func make(
        _ order: borrowing StartOrder, newest: Version?, isChannelCapable: Bool, channel: [UInt8]
    ) {
        var made: [UInt8] = []
        order.appendBody(newest: newest, isChannelCapable: isChannelCapable, channel: channel, to: &made)
        if !isChannelCapable {
            self.plain = made
        } else if channel.isEmpty {
            self.capable = made
        } else {
            if self.channels.count >= 2 { self.channels = [] }
            self.channels.append((channel, made))
        }
    }
    /// Appends a body, which must have been made.
    @inline(__always) func append(isChannelCapable: Bool, channel: [UInt8], to body: inout [UInt8]) {
        if !isChannelCapable {
            body.append(contentsOf: self.plain)
        } else if channel.isEmpty {
            body.append(contentsOf: self.capable)
        } else if let made = self.channels.first(where: { $0.id == channel }) {
            body.append(contentsOf: made.body)
        }
    }
}
