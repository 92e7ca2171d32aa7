import APNSSimulator
import DeviceModel
import PushInspection

/// Broadcast channels, and phones that listen to them.
extension DevHouse {
    /// All channels, oldest first. The content of each is what a phone shows if it has listened from the beginning.
    var channels: JSONTree {
        let nowSeconds = self.nowMillis / 1_000
        return .array(
            self.simulator.channels(limit: DevPageLimits.channelsMax).map { channel in
                let shown = channel.witness.shown(atSeconds: nowSeconds, rules: .phone)
                return [
                    "id": .string(channel.id), "app": .string(channel.app),
                    "storage": .string(channel.storage == .none ? "none" : "most-recent"),
                    "broadcasts": .integer(channel.publishedCount), "listeners": .integer(channel.listenerCount),
                    "stored": .bool(!channel.storedBody.isEmpty),
                    "contentState": shown.contentState.isEmpty
                        ? .null : (try? JSONTree.parse(shown.contentState)) ?? .null,
                ]
            })
    }

    /// Creates a channel.
    /// - Returns: the channel's id; `nil`: the number of channels is at its limit.
    func makeChannel(storage: ChannelStorage, app: String) -> String? {
        guard self.simulator.channels().count < DevPageLimits.channelsMax,
            let id = self.simulator.createChannel(app: app, storage: storage)
        else { return nil }
        self.addChannelNote("The broadcast channel \(id) was made. Cards can listen on it.", channel: id)
        return id
    }

    /// Deletes a channel.
    /// - Returns: whether the channel existed.
    func deleteChannel(_ id: String) -> Bool {
        guard self.simulator.deleteChannel(id: id) else { return false }
        self.addChannelNote("The broadcast channel \(id) was deleted. Events for it are refused.", channel: id)
        return true
    }

    /// Creates a phone whose app has started an activity that listens to a channel. The app has no token for its
    /// server.
    /// - Returns: the phone's id; `nil`: the channel does not exist.
    func makeListener(channel id: String) -> Int? {
        guard let channel = self.simulator.channel(id: id), channel.deletedMillis == nil else { return nil }
        let token = Self.newToken()
        self.simulator.setToken(token, .alive)
        guard self.simulator.setListening(token: token, channel: id) else { return nil }
        let phone = self.store.change { $0.meet(token: token, activity: id, app: channel.app) }
        self.lookAtPhones()
        return phone
    }

    /// Lets a phone listen to a channel, or stop listening.
    /// - Returns: why it cannot be done; `nil`: it is done.
    func setListening(_ phone: SimulatedPhone, to channel: String?, isOn: Bool) -> String? {
        guard isOn else {
            guard phone.channel != nil else { return "the card listens to no channel" }
            self.simulator.setListening(token: phone.token, channel: nil)
            self.addNote("The card no longer listens to a channel.", on: phone)
            return nil
        }
        guard !phone.isSwiped else { return "the activity is over: it no longer listens to a channel" }
        guard let id = channel ?? self.simulator.channels(app: phone.app).last?.id else {
            return "the app has no broadcast channel: make one first"
        }
        guard self.simulator.setListening(token: phone.token, channel: id) else { return "there is no such channel" }
        self.addNote("The card listens to the broadcast channel \(id).", on: phone)
        return nil
    }

    private func addChannelNote(_ text: String, channel: String) {
        let nowMillis = self.nowMillis
        self.store.change { $0.addNote(text, phone: 0, nowMillis: nowMillis, activity: channel) }
    }
}
