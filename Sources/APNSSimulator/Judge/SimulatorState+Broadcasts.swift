import DeviceModel
import HTTP2Session

/// Broadcasts (Apple: "Sending broadcast push notification requests to APNs").
extension SimulatorState {
    static let broadcastByteCountMax = 5_120
    /// Largest content that ActivityKit accepts, bytes. APNs does not check the size, so a larger content is only
    /// recorded as a violation.
    static let contentStateByteCountMax = 4_096

    mutating func broadcastVerdict(
        _ path: RequestPath, _ fields: RequestFields, _ request: HTTP2ServerRequest, _ bytes: Span<UInt8>,
        on connection: inout ConnectionRecord, nowMillis: Int64, answer: inout Answer
    ) -> Reason? {
        let reason = self.broadcastFault(path, fields, request, bytes, on: &connection, nowMillis: nowMillis)
        if let reason {
            self.recordRefusal(reason, channel: fields, bytes, on: connection, nowMillis: nowMillis)
        } else {
            self.counters.broadcasts += 1
            answer.success = .broadcast(uniqueID: (self.random.next(), self.random.next()))
        }
        return reason
    }

    /// The values of a valid broadcast's header fields.
    private struct Heading {
        var priority: Int
        /// Seconds since 1970; 0 if the message must not be stored.
        var expirationSeconds: Int64
    }

    private mutating func broadcastFault(
        _ path: RequestPath, _ fields: RequestFields, _ request: HTTP2ServerRequest, _ bytes: Span<UInt8>,
        on connection: inout ConnectionRecord, nowMillis: Int64
    ) -> Reason? {
        guard path.kind(method: bytes.extracting(fields.method ?? 0..<0)) != nil else { return .methodNotAllowed }
        let app: String
        switch self.channelsApp(path, fields, bytes, on: &connection, nowMillis: nowMillis) {
        case .refused(let reason): return reason
        case .found(let found): app = found
        }
        let heading: Heading
        switch Self.heading(fields, bytes) {
        case .refused(let reason): return reason
        case .found(let found): heading = found
        }
        let number: Int32
        switch self.channel(fields, bytes, app: app) {
        case .refused(let reason): return reason
        case .found(let found): number = found
        }
        guard let channel = self.store.channels[number] else { return .channelNotRegistered }
        switch channel.storage {
        case .none: if heading.expirationSeconds != 0 { return .badExpirationDate }
        case .mostRecent:
            let latest = nowMillis / 1_000 + ChannelStorage.storedSecondsMax
            if heading.expirationSeconds > latest { return .badExpirationDate }
        }
        if request.bodyByteCount == 0 { return .payloadEmpty }
        if request.bodyByteCount > Self.broadcastByteCountMax { return .payloadTooLarge }
        // APNs takes only plain JSON, so a body with a content encoding is refused.
        if let encoding = fields.contentEncoding, !bytes.extracting(encoding).equals("identity") {
            return .badRequestPayload
        }
        guard self.takeAllowance(ofChannel: number, nowMillis: nowMillis) else { return .tooManyRequests }
        return self.publish(
            bytes.extracting(request.body), to: number, heading, on: connection, nowMillis: nowMillis)
    }

    /// Checks the fields that a broadcast must have. Apple requires priority and expiration here, unlike for one phone.
    private static func heading(_ fields: RequestFields, _ bytes: Span<UInt8>) -> Found<Heading> {
        guard fields.channelID != nil else { return .refused(.missingChannelID) }
        guard let pushType = fields.pushType else { return .refused(.missingPushType) }
        // Apple's table says `Liveactivity`, its samples `liveactivity`.
        guard String(decoding: bytes.extracting(pushType).array, as: UTF8.self).lowercased() == "liveactivity" else {
            return .refused(.invalidPushType)
        }
        guard let field = fields.priority, let priority = Self.broadcastPriority(bytes.extracting(field)) else {
            return .refused(.badPriority)
        }
        guard let field = fields.expiration, let expiration = Self.date(bytes.extracting(field)),
            expiration <= PayloadReader.dateSecondsMax
        else { return .refused(.badExpirationDate) }
        return .found(Heading(priority: priority, expirationSeconds: expiration))
    }

    private static func broadcastPriority(_ value: Span<UInt8>) -> Int? {
        if value.equals("10") { return 10 }
        if value.equals("5") { return 5 }
        return value.equals("1") ? 1 : nil
    }

    /// Takes one broadcast from a channel's allowance per minute. Returns `false` if nothing is left of it.
    private mutating func takeAllowance(ofChannel number: Int32, nowMillis: Int64) -> Bool {
        guard let perMinute = self.configuration.channelPushesPerMinuteMax else { return true }
        var isAllowed = false
        self.store.channels.change(number) { channel in
            let gained =
                channel.allowanceMillis == .min
                ? Double(perMinute) : Double(nowMillis - channel.allowanceMillis) * Double(perMinute) / 60_000
            let allowance = min(Double(perMinute), channel.allowance + max(0, gained))
            isAllowed = allowance >= 1
            channel.allowance = isAllowed ? allowance - 1 : allowance
            channel.allowanceMillis = nowMillis
        }
        return isAllowed
    }

    private mutating func publish(
        _ body: Span<UInt8>, to number: Int32, _ heading: Heading, on connection: ConnectionRecord, nowMillis: Int64
    ) -> Reason? {
        let channelText = String(decoding: self.store.channels[number]?.id ?? [], as: UTF8.self)
        func fault(_ kind: Violation.Kind, _ detail: String, _ state: inout SimulatorState) {
            state.record(
                kind, detail, connection: connection.statistics.number, channel: channelText, nowMillis: nowMillis)
        }
        let lastMillis = self.store.channels[number]?.lastPublishedMillis ?? .min
        if let spacing = self.configuration.watchedChannelSpacingMillis, lastMillis != .min,
            nowMillis - lastMillis < spacing
        {
            fault(.pushedTooSoon, "after \(nowMillis - lastMillis) ms", &self)
        }
        var content: PushContent?
        do {
            content = try PayloadReader.read(body)
        } catch {
            fault(.payload, error.description, &self)
            if error.kind == .unreadable || self.configuration.refusesMeaninglessPayloads { return .badRequestPayload }
        }
        if let content {
            if content.event == .start {
                fault(.payload, "aps.event: a broadcast cannot start an activity", &self)
                return .badRequestPayload
            }
            if content.contentState.count > Self.contentStateByteCountMax {
                let count = content.contentState.count
                fault(
                    .payload,
                    "aps.content-state: \(count) bytes, ActivityKit takes \(Self.contentStateByteCountMax)", &self)
            }
            self.watch(content, body, to: number, heading.priority, nowMillis: nowMillis) { fault($0, $1, &$2) }
        }
        self.journal?.append(
            .broadcast(
                atMillis: nowMillis, channel: channelText, priority: heading.priority,
                expirationSeconds: heading.expirationSeconds, body: body.array))
        self.counters.countHeard(
            self.store.publish(
                content, body: body.array, to: number, priority: heading.priority,
                expirationSeconds: heading.expirationSeconds, nowMillis: nowMillis,
                rules: self.configuration.deviceRules))
        return nil
    }

    /// Checks a broadcast with the channel's witness, a phone that was always online. A fault is therefore recorded
    /// once for the channel, and not for each phone.
    private mutating func watch(
        _ content: PushContent, _ body: Span<UInt8>, to number: Int32, _ priority: Int, nowMillis: Int64,
        _ fault: (Violation.Kind, String, inout SimulatorState) -> Void
    ) {
        guard var witness = self.store.channels[number]?.witness else { return }
        let shownSeconds = witness.stampSeconds
        let reaction = witness.apply(
            content, body: body, priority: priority, nowMillis: nowMillis, rules: self.configuration.deviceRules)
        let count = witness.highPriorityCount(nowMillis: nowMillis)
        self.store.channels.change(number) { $0.witness = witness }
        switch reaction {
        case .shown, .shownAsSecondCard, .ignoredRepeat, .ignoredStale, .throttled: break
        case .ignoredSameStamp: fault(.stampNotIncreasing, "\(content.stampSeconds) came twice", &self)
        case .ignoredOlder: fault(.stampOlder, "\(content.stampSeconds) came after \(shownSeconds)", &self)
        case .ignoredFuture: fault(.payload, "aps.timestamp: \(content.stampSeconds) lies too far ahead", &self)
        case .ignoredAfterEnd:
            // An `end` may be repeated: phones that were away have not got it.
            if content.event != .end { fault(.afterEnd, "\(content.event) after the end", &self) }
        }
        if let budget = self.configuration.watchedBudgetPerHour, priority == 10, count > budget {
            fault(.budgetExceeded, "\(count) within an hour", &self)
        }
    }
}
