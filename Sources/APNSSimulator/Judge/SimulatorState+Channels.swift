import APNSProtocol
import DeviceModel
import FoundationEssentials
import HTTP2Session

/// Requests about channels, and what they share with broadcasts (Apple: "Sending channel management requests to APNs").
extension SimulatorState {
    /// Largest body, bytes. Apple names no limit, so the limit for broadcasts is used. Real bodies are far smaller.
    static let channelBodyByteCountMax = 5_120

    mutating func managementVerdict(
        _ path: RequestPath, _ fields: RequestFields, _ request: HTTP2ServerRequest, _ bytes: Span<UInt8>,
        on connection: inout ConnectionRecord, nowMillis: Int64, answer: inout Answer
    ) -> Reason? {
        let reason = self.managementFault(
            path, fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer)
        if let reason { self.recordRefusal(reason, channel: fields, bytes, on: connection, nowMillis: nowMillis) }
        return reason
    }

    private mutating func managementFault(
        _ path: RequestPath, _ fields: RequestFields, _ request: HTTP2ServerRequest, _ bytes: Span<UInt8>,
        on connection: inout ConnectionRecord, nowMillis: Int64, answer: inout Answer
    ) -> Reason? {
        guard let kind = path.kind(method: bytes.extracting(fields.method ?? 0..<0)) else { return .methodNotAllowed }
        let app: String
        switch self.channelsApp(path, fields, bytes, on: &connection, nowMillis: nowMillis) {
        case .refused(let reason): return reason
        case .found(let found): app = found
        }
        switch kind {
        case .createChannel:
            return self.create(app, fields, request, bytes, nowMillis: nowMillis, answer: &answer)
        case .readChannel:
            switch self.channel(fields, bytes, app: app) {
            case .refused(let reason): return reason
            case .found(let number): answer.success = .body(self.settingsJSON(of: number))
            }
        case .deleteChannel:
            switch self.channel(fields, bytes, app: app) {
            case .refused(let reason): return reason
            case .found(let number):
                self.deleteChannel(number, nowMillis: nowMillis)
                answer.success = .deleted
            }
        case .listChannels:
            answer.success = .body(self.listJSON(of: app, nowMillis: nowMillis))
        case .device, .broadcast:
            // Not reached: pushes and broadcasts have other paths.
            return .badPath
        }
        return nil
    }

    // MARK: Requirements of every request about channels

    enum Found<Value> {
        case found(Value)
        case refused(Reason)
    }

    /// Checks ids, provider token and app. Returns the bundle id of the path.
    mutating func channelsApp(
        _ path: RequestPath, _ fields: RequestFields, _ bytes: Span<UInt8>, on connection: inout ConnectionRecord,
        nowMillis: Int64
    ) -> Found<String> {
        if fields.hasDuplicates { return .refused(.badRequestParams) }
        for id in [fields.requestID, fields.messageID] {
            if let id, MessageID.parse(bytes.extracting(id)) == nil { return .refused(.badMessageID) }
        }
        guard let authorization = fields.authorization else { return .refused(.missingProviderToken) }
        if let reason = self.providerTokens.check(
            bytes.extracting(authorization), on: &connection, nowMillis: nowMillis)
        {
            return .refused(reason)
        }
        let name = bytes.extracting(fields.path ?? 0..<0).extracting(path.name)
        guard Self.isBundleID(name) else { return .refused(.badPath) }
        let app = String(decoding: name.array, as: UTF8.self)
        // Unlike a phone's topic, this path has no suffix.
        if app.contains(".push-type.") { return .refused(.topicDisallowed) }
        guard self.configuration.apps.isEmpty || self.configuration.apps.contains(app),
            self.providerTokens.covers(keyID: connection.keyID, app: app)
        else { return .refused(.topicMismatch) }
        return self.appsWithoutBroadcasts.contains(app) ? .refused(.featureNotEnabled) : .found(app)
    }

    /// The number of the channel in a request.
    func channel(_ fields: RequestFields, _ bytes: Span<UInt8>, app: String) -> Found<Int32> {
        guard let field = fields.channelID else { return .refused(.missingChannelID) }
        let id = bytes.extracting(field)
        guard ChannelIDCodec.isWellFormed(id) else { return .refused(.badChannelID) }
        guard let number = self.store.channels.number(id: id.array), let channel = self.store.channels[number],
            channel.isRegistered, channel.app == app
        else { return .refused(.channelNotRegistered) }
        return .found(number)
    }

    /// Records a refusal that a well-behaved provider does not cause, such as a refusal because of a suffix on the
    /// bundle id.
    mutating func recordRefusal(
        _ reason: Reason, channel fields: RequestFields, _ bytes: Span<UInt8>, on connection: ConnectionRecord,
        nowMillis: Int64
    ) {
        guard reason.isProvidersFault || reason == .topicDisallowed else { return }
        let kind: Violation.Kind = reason == .tooManyProviderTokenUpdates ? .providerTokenUpdatedTooOften : .request
        self.record(
            kind, reason.rawValue, connection: connection.statistics.number,
            channel: Self.channelText(fields, bytes), nowMillis: nowMillis)
    }

    /// The value of `apns-channel-id`, cut to the longest id; empty if it is missing.
    static func channelText(_ fields: RequestFields, _ bytes: Span<UInt8>) -> String {
        let field = fields.channelID ?? 0..<0
        return String(decoding: bytes.extracting(field.prefix(ChannelIDCodec.byteCountMax)).array, as: UTF8.self)
    }

    // MARK: Creating

    /// The body of a request that makes a channel. Other keys have no documented effect and are ignored.
    private struct Settings: Decodable {
        var storage: Int?
        var pushType: String?

        enum CodingKeys: String, CodingKey {
            case storage = "message-storage-policy"
            case pushType = "push-type"
        }
    }

    private mutating func create(
        _ app: String, _ fields: RequestFields, _ request: HTTP2ServerRequest, _ bytes: Span<UInt8>, nowMillis: Int64,
        answer: inout Answer
    ) -> Reason? {
        if request.bodyByteCount == 0 { return .payloadEmpty }
        if request.bodyByteCount > Self.channelBodyByteCountMax { return .payloadTooLarge }
        let body = Data(bytes.extracting(request.body).array)
        guard let settings = try? JSONDecoder().decode(Settings.self, from: body) else { return .badRequestPayload }
        guard let pushType = settings.pushType else { return .missingPushType }
        guard pushType.lowercased() == "liveactivity" else { return .invalidPushType }
        guard let storage = settings.storage.flatMap(UInt8.init(exactly:)).flatMap(ChannelStorage.init(rawValue:))
        else { return .badRequestPayload }
        guard let number = self.createChannel(app: app, storage: storage, nowMillis: nowMillis) else {
            return .cannotCreateChannelConfig
        }
        answer.success = .created(channelID: self.store.channels[number]?.id ?? [])
        return nil
    }

    /// Makes a channel. Returns `nil` if the app has its maximum number of channels already.
    mutating func createChannel(app: String, storage: ChannelStorage, nowMillis: Int64) -> Int32? {
        let countMax = self.channelsMax[app] ?? self.configuration.channelsPerAppMax
        guard self.store.channels.registeredCount(app: app) < countMax else { return nil }
        let salt = UInt64(bitPattern: nowMillis) << 1 | (self.configuration.environment == .production ? 0 : 1)
        var id = ChannelIDCodec.make(&self.random, salt: salt)
        while self.store.channels.number(id: id) != nil { id = ChannelIDCodec.make(&self.random, salt: salt) }
        self.counters.channelsCreated += 1
        self.journal?.append(
            .channel(atMillis: nowMillis, id: String(decoding: id, as: UTF8.self), app: app, storage: storage))
        return self.store.channels.add(id: id, app: app, storage: storage, atMillis: nowMillis)
    }

    mutating func deleteChannel(_ number: Int32, nowMillis: Int64) {
        guard let channel = self.store.channels[number], channel.isRegistered else { return }
        self.counters.channelsDeleted += 1
        self.journal?.append(
            .channelDeletion(atMillis: nowMillis, id: String(decoding: channel.id, as: UTF8.self)))
        self.store.deleteChannel(number, atMillis: nowMillis)
    }

    /// Switches an app's capability for broadcasts on or off. Switching it off deletes every channel of the app, as in
    /// Apple's portal.
    mutating func setBroadcasts(_ isOn: Bool, app: String, nowMillis: Int64) {
        if isOn {
            self.appsWithoutBroadcasts.remove(app)
        } else {
            self.appsWithoutBroadcasts.insert(app)
            for number in self.store.channels.registered(app: app) {
                self.deleteChannel(number, nowMillis: nowMillis)
            }
        }
    }

    // MARK: Answers

    private func settingsJSON(of number: Int32) -> [UInt8] {
        let storage = self.store.channels[number]?.storage ?? .none
        return Array("{\"message-storage-policy\":\(storage.rawValue),\"push-type\":\"LiveActivity\"}".utf8)
    }

    /// The channels of an app as they were `listLagMillis` ago.
    private func listJSON(of app: String, nowMillis: Int64) -> [UInt8] {
        let numbers = self.store.channels.registered(app: app, atMillis: nowMillis - self.listLagMillis)
        if numbers.isEmpty, self.configuration.listsNoChannelsWithoutBody { return [] }
        var json = Array("{\"channels\":[".utf8)
        for (index, number) in numbers.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            // Base64 needs no escapes.
            json.append(UInt8(ascii: "\""))
            json += self.store.channels[number]?.id ?? []
            json.append(UInt8(ascii: "\""))
        }
        return json + Array("]}".utf8)
    }
}
