import DeviceModel

/// Changes that phones and their apps make by themselves.
extension SimulatorState {
    /// Makes the app listen to a channel from now on; with `nil`, to none. Returns `false` if there is no such channel,
    /// or no room for the phone.
    mutating func setListening(_ token: [UInt8], channel id: String?) -> Bool {
        var number: Int32?
        if let id {
            guard let found = self.store.channels.number(id: Array(id.utf8)),
                self.store.channels[found]?.isRegistered ?? false
            else { return false }
            number = found
        }
        guard let index = self.store.findOrAdd(token) else { return false }
        let device = Int(self.store.tokens[index].device)
        if let number { self.store.listen(device, to: number) } else { self.store.stopListening(device) }
        self.journal?.append(.listening(token: TokenHex.encode(token[...]), channel: id))
        return true
    }

    /// Makes the phone go away or return. Returns `false` if there is no room for the phone.
    mutating func setOnline(_ token: [UInt8], _ isOnline: Bool, nowMillis: Int64) -> Bool {
        guard let index = self.store.findOrAdd(token) else { return false }
        let device = Int(self.store.tokens[index].device)
        guard self.store.isOnline(device) != isOnline else { return true }
        let cards = self.store.devicesOfPhone(withToken: index)
        guard isOnline else {
            for card in cards { self.store.leave(card) }
            self.journal?.append(
                .presence(atMillis: nowMillis, token: TokenHex.encode(token[...]), isOnline: false))
            return true
        }
        // The journal lists a push when the phone gets it. The waiting push therefore comes before the entry of the
        // phone's return.
        for card in cards {
            guard let push = self.store.takeWaiting(card, nowMillis: nowMillis) else { continue }
            self.sight = Sight()
            if let fault = Self.payloadFault(push.body.span) { self.sight.phone = .couldNotDecode(fault) }
            self.handOver(
                push.token, try? PayloadReader.read(push.body.span), push.body.span, priority: push.priority,
                messageID: push.messageID, on: nil, nowMillis: nowMillis)
            self.reportStoredPush(
                push.token, body: push.body.span, priority: push.priority, messageID: push.messageID,
                nowMillis: nowMillis)
        }
        self.journal?.append(.presence(atMillis: nowMillis, token: TokenHex.encode(token[...]), isOnline: true))
        for card in cards {
            self.counters.countHeard(
                self.store.comeBack(card, nowMillis: nowMillis, rules: self.configuration.deviceRules))
        }
        return true
    }
}
