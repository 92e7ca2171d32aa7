public import DeviceModel

/// Broadcast channels, who listens to them, and who is away.
extension APNSSimulator {
    /// Channels that are registered, oldest first. `app`: only of this bundle id; `nil`: of all.
    public func channels(app: String? = nil, limit: Int = .max) -> [SimulatedChannel] {
        self.shared.withState { state in
            state.store.channels.registered(app: app).prefix(limit).compactMap { number in
                state.store.channels[number].map(SimulatedChannel.init)
            }
        }
    }

    /// A channel by its id, base64; also a deleted one, as long as what it stored may still be of use. `nil`: there is none.
    public func channel(id: String) -> SimulatedChannel? {
        self.shared.withState { state in
            state.store.channels.number(id: Array(id.utf8)).flatMap { state.store.channels[$0] }
                .map(SimulatedChannel.init)
        }
    }

    /// Makes a channel, as a request to the management port does.
    /// - Returns: its id, base64; `nil`: the app has as many as it may.
    public func createChannel(app: String, storage: ChannelStorage) -> String? {
        let nowMillis = self.shared.nowMillis()
        let id = self.shared.withState { state -> String? in
            state.createChannel(app: app, storage: storage, nowMillis: nowMillis)
                .flatMap { state.store.channels[$0] }.map { String(decoding: $0.id, as: UTF8.self) }
        }
        self.shared.changed()
        return id
    }

    /// Deletes a channel, as a request to the management port does. What it stored still reaches phones that come back.
    /// - Returns: `false`: no channel that is registered has this id.
    @discardableResult
    public func deleteChannel(id: String) -> Bool {
        let nowMillis = self.shared.nowMillis()
        let isDone = self.shared.withState { state -> Bool in
            guard let number = state.store.channels.number(id: Array(id.utf8)),
                state.store.channels[number]?.isRegistered ?? false
            else { return false }
            state.deleteChannel(number, nowMillis: nowMillis)
            return true
        }
        self.shared.changed()
        return isDone
    }

    /// Switches the capability for broadcasts of an app on or off: without it, 400 `FeatureNotEnabled`. Off deletes every channel of the app.
    public func setBroadcasts(_ isOn: Bool, app: String) {
        let nowMillis = self.shared.nowMillis()
        self.shared.withState { $0.setBroadcasts(isOn, app: app, nowMillis: nowMillis) }
        self.shared.changed()
    }

    /// How many channels an app may have from now on; `nil`: as configured. Those there are stay.
    public func setChannelsMax(_ countMax: Int?, app: String) {
        self.shared.withState { $0.channelsMax[app] = countMax.map { max(0, $0) } }
    }

    /// From now on a list of channels is as old as this, milliseconds: it lacks what was made since, and shows what was deleted since. Clamped to
    /// 0...`Latency.millisMax`. Apple does not say how fresh a list is.
    public func setListLag(millis: Int64) {
        self.shared.withState { $0.listLagMillis = min(max(0, millis), Latency.millisMax) }
    }

    /// The app on the phone behind a token (hex) listens to a channel from now on, as its code may do by itself; `nil`: to none. A `start` with
    /// `input-push-channel` does it without this.
    /// - Returns: `false`: not the hex of a token, or no such channel.
    @discardableResult
    public func setListening(token: String, channel id: String?) -> Bool {
        guard let bytes = TokenHex.decode(token) else { return false }
        return self.shared.withState { $0.setListening(bytes, channel: id) }
    }

    /// The phone behind a token (hex) goes away, or comes back. While it is away, no push and no broadcast reaches it; when it comes back, it gets
    /// the newest push that has not expired, and then what its channel stored.
    /// - Returns: `false`: not the hex of a token.
    @discardableResult
    public func setOnline(token: String, _ isOnline: Bool) -> Bool {
        guard let bytes = TokenHex.decode(token) else { return false }
        let nowMillis = self.shared.nowMillis()
        let isDone = self.shared.withState { $0.setOnline(bytes, isOnline, nowMillis: nowMillis) }
        self.shared.changed()
        return isDone
    }
}

/// What the simulator knows of one broadcast channel. A copy.
public struct SimulatedChannel: Sendable {
    /// Base64.
    public var id: String
    /// Bundle id of the app it belongs to.
    public var app: String
    /// Whether the newest message is kept for phones that are away.
    public var storage: ChannelStorage
    /// When it was made, milliseconds since 1970.
    public var createdMillis: Int64
    /// When it was deleted, milliseconds since 1970; `nil`: it is registered.
    public var deletedMillis: Int64?
    /// Messages that APNs took for it.
    public var publishedCount: Int
    /// Phones that listen to it now.
    public var listenerCount: Int
    /// The body it keeps for phones that are away; empty: none.
    public var storedBody: [UInt8]
    /// A phone that was there and listened all the time.
    public var witness: Device

    init(_ record: BroadcastChannel) {
        self.id = String(decoding: record.id, as: UTF8.self)
        self.app = record.app
        self.storage = record.storage
        self.createdMillis = record.createdMillis
        self.deletedMillis = record.deletedMillis
        self.publishedCount = record.published
        self.listenerCount = record.listeners.count
        self.storedBody = record.stored?.body ?? []
        self.witness = record.witness
    }
}
