import DeviceModel
import HTTP2Session
import PushModel

/// Pushes to one phone.
extension SimulatorState {
    /// How long APNs stores a push without an expiration, seconds (Apple: 30 days).
    static let storedSecondsUnlessSaid: Int64 = 30 * 86_400

    /// Checks a push, in APNs' order. Returns `nil` if APNs accepts the push, which the phone then gets, unless it is
    /// away.
    mutating func deviceVerdict(
        _ fields: RequestFields, _ request: HTTP2ServerRequest, _ bytes: Span<UInt8>,
        on connection: inout ConnectionRecord,
        nowMillis: Int64, answer: inout Answer
    ) -> Reason? {
        if let reason = self.headerFault(fields, bytes, on: &connection, nowMillis: nowMillis) {
            self.recordRefusal(reason, fields, bytes, on: connection, nowMillis: nowMillis)
            return reason
        }
        let tokenText = bytes.extracting(fields.path ?? 0..<0)
        let prefixCount = RequestPath.devicePrefix.utf8CodeUnitCount
        guard TokenHex.decode(tokenText.extracting(prefixCount..<tokenText.count), into: &self.token) else {
            return .badDeviceToken
        }
        let hash = TokenTable.hash(self.token.span)
        var found = self.store.tokens.find(self.token.span, hash: hash)
        if found == nil {
            switch self.configuration.unknownTokens {
            case .accept:
                // `token` is a second reference, so that the store may change while the token's bytes are borrowed.
                let token = self.token
                found = self.store.addDevice(token.span, hash: hash)
            case .reject: return .badDeviceToken
            }
        }
        guard let index = found else {
            self.counters.devicesFull += 1
            return .serviceUnavailable
        }
        answer.token = Int32(index)
        let reason = self.verdict(
            index, fields, request, bytes, on: connection, nowMillis: nowMillis, answer: &answer)
        if reason == nil {
            self.store.tokens[index].accepted &+= 1
        } else {
            self.store.tokens[index].refused &+= 1
        }
        return reason
    }

    private mutating func headerFault(
        _ fields: RequestFields, _ bytes: Span<UInt8>, on connection: inout ConnectionRecord, nowMillis: Int64
    ) -> Reason? {
        guard let method = fields.method, bytes.extracting(method).equals("POST") else { return .methodNotAllowed }
        let path = bytes.extracting(fields.path ?? 0..<0)
        let prefixCount = RequestPath.devicePrefix.utf8CodeUnitCount
        guard path.count >= prefixCount, path.extracting(0..<prefixCount).equals(RequestPath.devicePrefix) else {
            return path.equals("/3/device") ? .missingDeviceToken : .badPath
        }
        if path.count == prefixCount { return .missingDeviceToken }
        if fields.hasDuplicates { return .duplicateHeaders }
        if let id = fields.messageID, MessageID.parse(bytes.extracting(id)) == nil { return .badMessageID }

        guard let authorization = fields.authorization else { return .missingProviderToken }
        if let reason = self.providerTokens.check(
            bytes.extracting(authorization), on: &connection, nowMillis: nowMillis)
        {
            return reason
        }

        guard let topic = fields.topic else { return .missingTopic }
        if let reason = self.topicFault(bytes.extracting(topic), on: &connection) { return reason }
        guard let pushType = fields.pushType, bytes.extracting(pushType).equals("liveactivity") else {
            return .invalidPushType
        }
        if let priority = fields.priority, Self.priority(bytes.extracting(priority)) == nil { return .badPriority }
        if let expiration = fields.expiration, Self.date(bytes.extracting(expiration)) == nil {
            return .badExpirationDate
        }
        if let collapseID = fields.collapseID, collapseID.count > Self.collapseIDByteCountMax { return .badCollapseID }
        return nil
    }

    /// Checks the topic, and sets `connection.topicIndex`.
    private mutating func topicFault(_ topic: Span<UInt8>, on connection: inout ConnectionRecord) -> Reason? {
        if connection.topicIndex >= 0, topic.equals(connection.topic) { return nil }
        let suffixCount = Self.topicSuffix.utf8CodeUnitCount
        guard topic.count > suffixCount,
            topic.extracting(topic.count - suffixCount..<topic.count).equals(Self.topicSuffix)
        else {
            return .badTopic
        }
        guard Self.isBundleID(topic.extracting(0..<topic.count - suffixCount)) else { return .badTopic }
        let app = String(decoding: topic.extracting(0..<topic.count - suffixCount).array, as: UTF8.self)
        guard self.configuration.apps.isEmpty || self.configuration.apps.contains(app),
            self.providerTokens.covers(keyID: connection.keyID, app: app), let index = self.store.topicIndex(topic)
        else { return .topicDisallowed }
        connection.topicIndex = index
        connection.topic = topic.array
        return nil
    }

    private mutating func verdict(
        _ index: Int, _ fields: RequestFields, _ request: HTTP2ServerRequest, _ bytes: Span<UInt8>,
        on connection: ConnectionRecord,
        nowMillis: Int64, answer: inout Answer
    ) -> Reason? {
        let entry = self.store.tokens[index]
        if let reason = Self.refusal(entry.state) {
            answer.timestampMillis = self.store.tokens.status(index).sinceMillis
            self.store.tokens[index].wasRefusedAsDead = true
            if entry.wasRefusedAsDead {
                self.record(
                    .deadTokenUsedAgain, "answered \(reason.rawValue) before", connection: connection.statistics.number,
                    token: TokenHex.encode(self.token[...]), nowMillis: nowMillis)
            }
            return reason
        }
        if entry.topic < 0 {
            self.store.tokens[index].topic = connection.topicIndex
        } else if entry.topic != connection.topicIndex {
            return .deviceTokenNotForTopic
        }
        let sizeFault: Reason? =
            request.bodyByteCount == 0
            ? .payloadEmpty : request.bodyByteCount > Self.payloadByteCountMax ? .payloadTooLarge : nil
        if let sizeFault {
            self.recordRefusal(sizeFault, fields, bytes, on: connection, nowMillis: nowMillis)
            return sizeFault
        }
        // APNs takes only plain JSON, so a body with a content encoding is refused.
        if let encoding = fields.contentEncoding, !bytes.extracting(encoding).equals("identity") {
            self.recordRefusal(.payloadEmpty, fields, bytes, on: connection, nowMillis: nowMillis)
            return .payloadEmpty
        }
        guard self.takeAllowance(index, nowMillis: nowMillis) else { return .tooManyRequests }
        let priority = fields.priority.flatMap { Self.priority(bytes.extracting($0)) } ?? 10
        let expirationSeconds =
            fields.expiration.flatMap { Self.date(bytes.extracting($0)) }
            ?? nowMillis / 1_000 + Self.storedSecondsUnlessSaid
        return self.deliver(
            index, bytes.extracting(request.body), priority: priority, expirationSeconds: expirationSeconds,
            messageID: answer.messageID, on: connection, nowMillis: nowMillis)
    }

    /// Takes one push from a device's allowance per minute. Returns `false` if nothing is left of it.
    private mutating func takeAllowance(_ index: Int, nowMillis: Int64) -> Bool {
        guard let perMinute = self.configuration.devicePushesPerMinuteMax else { return true }
        let left = self.store.tokens.allowances[Int32(index)]
        let gained = left.map { Float(nowMillis - $0.asOfMillis) * Float(perMinute) / 60_000 } ?? Float(perMinute)
        let allowance = min(Float(perMinute), (left?.pushes ?? 0) + max(0, gained))
        self.store.tokens.allowances[Int32(index)] = TokenTable.Allowance(
            pushes: allowance >= 1 ? allowance - 1 : allowance, asOfMillis: nowMillis)
        return allowance >= 1
    }

    /// Delivers a push that passed every check of APNs to the phone.
    private mutating func deliver(
        _ index: Int, _ body: Span<UInt8>, priority: Int, expirationSeconds: Int64, messageID: (UInt64, UInt64),
        on connection: ConnectionRecord, nowMillis: Int64
    ) -> Reason? {
        var content: PushContent?
        do {
            content = try PayloadReader.read(body)
        } catch {
            self.recordOn(connection, .payload, error.description, nowMillis)
            if error.kind == .unreadable { return .payloadEmpty }
            if self.configuration.refusesMeaninglessPayloads { return .invalidPushType }
        }
        if content?.event == .start, self.configuration.refusesStartsOverBudget,
            self.store.isOverStartBudget(index, nowMillis: nowMillis, rules: self.configuration.deviceRules)
        {
            return .tooManyRequests
        }
        self.watchDistance(self.store.tokens.pushed(index, nowMillis: nowMillis), on: connection, nowMillis: nowMillis)
        let device = Int(self.store.tokens[index].device)
        guard self.store.isOnline(device) else {
            self.store.keepWaiting(
                PhoneState.WaitingPush(
                    token: index, body: body.array, priority: priority, messageID: messageID,
                    expirationSeconds: expirationSeconds),
                for: device, nowMillis: nowMillis)
            self.sight.phone = .isAway
            return nil
        }
        if content == nil, self.configuration.onPush != nil, let fault = Self.payloadFault(body) {
            self.sight.phone = .couldNotDecode(fault)
        }
        self.handOver(
            index, content, body, priority: priority, messageID: messageID, on: connection, nowMillis: nowMillis)
        return nil
    }

    /// Gives the phone a push. `connection` is `nil` for a push that waited for the phone: the connection that brought
    /// the push is forgotten.
    mutating func handOver(
        _ index: Int, _ content: PushContent?, _ body: Span<UInt8>, priority: Int, messageID: (UInt64, UInt64),
        on connection: ConnectionRecord?, nowMillis: Int64
    ) {
        let fault = self.decodingFault(content, body, token: index)
        let content = fault == nil ? content : nil
        if let fault { self.sight.phone = .couldNotDecode(fault) }
        let stampBeforeSeconds = self.store.devices[Int(self.store.tokens[index].device)].stampSeconds
        self.sight.stampBeforeSeconds = stampBeforeSeconds == .min ? nil : stampBeforeSeconds
        if let content, let connection { self.watchKind(index, content, body, on: connection, nowMillis: nowMillis) }
        let reaction = self.store.push(
            content, body: body, toToken: index, app: content?.event == .start ? self.app(ofToken: index) : nil,
            priority: priority, messageID: messageID, nowMillis: nowMillis, rules: self.configuration.deviceRules)
        self.writeDown(index, body, priority: priority, nowMillis: nowMillis)
        guard let reaction, let content else {
            if let content, self.sight.phone == .notReached {
                self.sight.phone = .couldNotDecode(
                    content.event == .start
                        ? "a start to an update token, or for a channel that the app does not have"
                        : "\(content.event) to a push-to-start token")
            }
            self.counters.undecodable += 1
            return
        }
        self.sight.phone = .took(reaction)
        self.counters.reactions[Int(reaction.rawValue)] += 1
        if priority == 10 { self.counters.highPriority += 1 }
        if content.event == .start { self.started(index, reaction, nowMillis: nowMillis) }
        if let connection {
            self.watch(index, reaction, content, priority: priority, on: connection, nowMillis: nowMillis)
        }
    }

    /// Why a phone cannot decode a payload; `nil` if it can.
    static func payloadFault(_ body: Span<UInt8>) -> String? {
        do {
            _ = try PayloadReader.read(body)
            return nil
        } catch {
            return error.description
        }
    }

    /// The bundle id of a token's topic; `nil` before the first push.
    func app(ofToken index: Int) -> String? {
        let topic = self.store.tokens[index].topic
        guard topic >= 0 else { return nil }
        return String(
            decoding: self.store.topics[Int(topic)].dropLast(Self.topicSuffix.utf8CodeUnitCount), as: UTF8.self)
    }

    private mutating func writeDown(_ index: Int, _ body: Span<UInt8>, priority: Int, nowMillis: Int64) {
        guard self.journal != nil else { return }
        let topic = self.store.tokens[index].topic
        self.journal?.append(
            .push(
                atMillis: nowMillis, token: TokenHex.encode(self.store.tokens.token(index)),
                topic: topic < 0 ? "" : String(decoding: self.store.topics[Int(topic)], as: UTF8.self),
                priority: priority, body: body.array))
    }

    mutating func setToken(_ token: [UInt8], _ status: TokenStatus) {
        self.store.setToken(token, status)
        self.journal?.append(.status(token: TokenHex.encode(token[...]), status))
    }

    mutating func rotate(from old: [UInt8], to new: [UInt8], oldStatus: TokenStatus, nowMillis: Int64) {
        self.store.rotate(from: old, to: new, oldStatus: oldStatus, nowMillis: nowMillis)
        self.journal?.append(
            .rotation(old: TokenHex.encode(old[...]), new: TokenHex.encode(new[...]), oldStatus))
    }

    private mutating func watch(
        _ index: Int, _ reaction: Device.Reaction, _ content: PushContent, priority: Int,
        on connection: ConnectionRecord, nowMillis: Int64
    ) {
        let device = Int(self.store.tokens[index].device)
        switch reaction {
        case .shown, .ignoredRepeat, .ignoredStale, .throttled: break
        case .ignoredSameStamp:
            self.recordOn(connection, .stampNotIncreasing, "\(content.stampSeconds) came twice", nowMillis)
        case .ignoredOlder:
            let shown = self.store.devices[device].stampSeconds
            self.recordOn(connection, .stampOlder, "\(content.stampSeconds) came after \(shown)", nowMillis)
        case .ignoredFuture:
            self.recordOn(connection, .payload, "aps.timestamp: \(content.stampSeconds) lies too far ahead", nowMillis)
        case .ignoredAfterEnd: self.recordOn(connection, .afterEnd, "\(content.event) after the end", nowMillis)
        case .shownAsSecondCard: self.recordOn(connection, .startedTwice, "start while a card is up", nowMillis)
        }
        if let budget = self.configuration.watchedBudgetPerHour, priority == 10 {
            let count = self.store.devices[device].highPriorityCount(nowMillis: nowMillis)
            if count > budget { self.recordOn(connection, .budgetExceeded, "\(count) within an hour", nowMillis) }
        }
    }

    private mutating func watchDistance(
        _ distanceMillis: Int64?, on connection: ConnectionRecord, nowMillis: Int64
    ) {
        guard let distanceMillis, let spacing = self.configuration.watchedSpacingMillis, distanceMillis < spacing else {
            return
        }
        self.recordOn(connection, .pushedTooSoon, "after \(distanceMillis) ms", nowMillis)
    }

    /// Records a violation about the current token.
    mutating func recordOn(
        _ connection: ConnectionRecord, _ kind: Violation.Kind, _ detail: @autoclosure () -> String, _ nowMillis: Int64
    ) {
        self.record(
            kind, detail(), connection: connection.statistics.number,
            token: TokenHex.encode(self.token.prefix(Self.tokenPrefixCount / 2)),
            nowMillis: nowMillis)
    }

    private mutating func recordRefusal(
        _ reason: Reason, _ fields: RequestFields, _ bytes: Span<UInt8>, on connection: ConnectionRecord,
        nowMillis: Int64
    ) {
        guard reason.isProvidersFault else { return }
        let path = bytes.extracting(fields.path ?? 0..<0)
        let prefixCount = min(path.count, RequestPath.devicePrefix.utf8CodeUnitCount)
        let token = String(
            decoding: path.extracting(prefixCount..<min(path.count, prefixCount + Self.tokenPrefixCount)).array,
            as: UTF8.self)
        let kind: Violation.Kind = reason == .tooManyProviderTokenUpdates ? .providerTokenUpdatedTooOften : .request
        self.record(kind, reason.rawValue, connection: connection.statistics.number, token: token, nowMillis: nowMillis)
    }

    private static func refusal(_ state: TokenState) -> Reason? {
        switch state {
        case .alive: return nil
        case .rotated: return .unregistered
        case .dead: return .expiredToken
        case .unknown: return .badDeviceToken
        }
    }

    /// Whether a name has 1 to `bundleIDByteCountMax` characters that Apple allows: letters, digits, hyphens and full
    /// stops (CFBundleIdentifier).
    static func isBundleID(_ name: Span<UInt8>) -> Bool {
        guard (1...Self.bundleIDByteCountMax).contains(name.count) else { return false }
        return name.indices.allSatisfy { index in
            switch name[index] {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
    }

    private static func priority(_ value: Span<UInt8>) -> Int? {
        if value.equals("10") { return 10 }
        if value.equals("5") { return 5 }
        return nil
    }

    /// Parses a time of 1 to 18 decimal digits, which always fits into 64 bits.
    static func date(_ value: Span<UInt8>) -> Int64? {
        guard (1...18).contains(value.count) else { return nil }
        var seconds: Int64 = 0
        for index in value.indices {
            guard value[index] &- 0x30 <= 9 else { return nil }
            seconds = seconds * 10 + Int64(value[index] - 0x30)
        }
        return seconds
    }
}
