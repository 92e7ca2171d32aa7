public import DeviceModel

/// Broadcast channels, the phones that listen to them, and the phones that are away.
extension APNSSimulator {
    /// Registered channels, oldest first. `app` limits them to a bundle id; `nil` means all.
    public func channels(app: String? = nil, limit: Int = .max) -> [SimulatedChannel] {
        self.shared.withState { state in
            state.store.channels.registered(app: app).prefix(limit).compactMap { number in
                state.store.channels[number].map(SimulatedChannel.init)
            }
        }
    }

    /// A channel by its id, base64; `nil` if there is none. A deleted channel is found until its record is dropped: see
    /// `ChannelTable.deletedKeptMax`.
    public func channel(id: String) -> SimulatedChannel? {
        self.shared.withState { state in
            state.store.channels.number(id: Array(id.utf8)).flatMap { state.store.channels[$0] }
                .map(SimulatedChannel.init)
        }
    }

    /// Makes a channel, as a request to the management port does.
    /// - Returns: the channel's id, base64; `nil` if the app has its maximum number of channels already.
    public func createChannel(app: String, storage: ChannelStorage) -> String? {
        let nowMillis = self.shared.nowMillis()
        let id = self.shared.withState { state -> String? in
            state.createChannel(app: app, storage: storage, nowMillis: nowMillis)
                .flatMap { state.store.channels[$0] }.map { String(decoding: $0.id, as: UTF8.self) }
        }
        self.shared.changed()
        return id
    }

    /// Deletes a channel, as a request to the management port does. Its stored message still reaches phones that
    /// return.
    /// - Returns: `false` if no registered channel has this id.
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

    /// Switches an app's capability for broadcasts on or off. Without the capability, broadcasts and requests about
    /// channels get 400 `FeatureNotEnabled`. Switching the capability off deletes every channel of the app.
    public func setBroadcasts(_ isOn: Bool, app: String) {
        let nowMillis = self.shared.nowMillis()
        self.shared.withState { $0.setBroadcasts(isOn, app: app, nowMillis: nowMillis) }
        self.shared.changed()
    }

    /// Sets how many channels an app may have; `nil` for the configured number. Existing channels stay.
    public func setChannelsMax(_ countMax: Int?, app: String) {
        self.shared.withState { $0.channelsMax[app] = countMax.map { max(0, $0) } }
    }

    /// Sets how old channel lists are, in milliseconds: a list shows the channels as they were that long ago. The age
    /// is limited to 0...`Latency.millisMax`. Apple does not say how fresh a list is.
    public func setListLag(millis: Int64) {
        self.shared.withState { $0.listLagMillis = min(max(0, millis), Latency.millisMax) }
    }

    /// Makes the app on the phone behind a token (hex) listen to a channel, as the app's own code may do. With `nil`,
    /// the app listens to no channel. A `start` with `input-push-channel` makes the app listen without this call.
    /// - Returns: `false` if the token is not hex, there is no such channel, or there is no room for the token.
    @discardableResult
    public func setListening(token: String, channel id: String?) -> Bool {
        guard let bytes = TokenHex.decode(token) else { return false }
        return self.shared.withState { $0.setListening(bytes, channel: id) }
    }

    /// Makes the phone behind a token (hex) go away or return. While it is away, no push and no broadcast reaches it.
    /// When it returns, it gets the newest push that has not expired, and then its channel's stored message.
    /// - Returns: `false` if the token is not hex, or there is no room for it.
    @discardableResult
    public func setOnline(token: String, _ isOnline: Bool) -> Bool {
        guard let bytes = TokenHex.decode(token) else { return false }
        let nowMillis = self.shared.nowMillis()
        let isDone = self.shared.withState { $0.setOnline(bytes, isOnline, nowMillis: nowMillis) }
        self.shared.changed()
        return isDone
    }
}

/// What the simulator knows about one broadcast channel: a copy.
public struct SimulatedChannel: Sendable {
    /// The id, base64.
    public var id: String
    /// Bundle id of the app that the channel belongs to.
    public var app: String
    /// Whether the newest message is kept for phones that are away.
    public var storage: ChannelStorage
    /// When the channel was made, milliseconds since 1970.
    public var createdMillis: Int64
    /// When the channel was deleted, milliseconds since 1970; `nil` if it is registered.
    public var deletedMillis: Int64?
    /// Number of messages that APNs accepted for it.
    public var publishedCount: Int
    /// Number of phones that listen to it now.
    public var listenerCount: Int
    /// The body stored for phones that are away; empty for none.
    public var storedBody: [UInt8]
    /// A phone that was online and listened all the time.
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
