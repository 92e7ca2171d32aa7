import DeviceModel
import HTTP2Session
import PushModel

/// Everything the connections share: keys, tokens, devices, faults, counters. Lives behind one lock, taken once per batch of requests.
///
/// Decides what becomes of each request. Told the time; its randomness is seeded.
struct SimulatorState {
    let configuration: SimulatorConfiguration
    var providerTokens: ProviderTokenChecks
    var store: DeviceStore
    var faults = FaultList()
    var latency = Latency()
    var refusesConnections = false
    /// Accepted connections get no TLS.
    var isMute = false
    var concurrentStreamsMax: UInt32
    var random: SplitMix64
    var counters = Counters()
    private(set) var violations: [Violation] = []
    /// Where what happens to phones is written down; `nil`: nowhere.
    var journal: JournalWriter?
    /// Decoded token of the request at hand; reused.
    private var token: [UInt8] = []

    static let pathPrefix: StaticString = "/3/device/"
    static let topicSuffix: StaticString = ".push-type.liveactivity"
    static let payloadByteCountMax = 4_096
    static let collapseIDByteCountMax = 64
    /// App Store Connect takes no longer bundle id.
    static let bundleIDByteCountMax = 155
    /// Characters of a token that a violation shows.
    static let tokenPrefixCount = 8

    init(configuration: SimulatorConfiguration, keys: [RegisteredKey]) {
        self.configuration = configuration
        self.providerTokens = ProviderTokenChecks(
            environment: configuration.environment, checksSignatures: configuration.checksSignatures)
        for key in keys { self.providerTokens.register(key) }
        self.store = DeviceStore(devicesMax: configuration.devicesMax)
        self.concurrentStreamsMax = configuration.concurrentStreamsMax
        self.random = SplitMix64(seed: configuration.randomSeed)
    }

    /// Judges one whole request and adds what is to be done to `rulings`. One above the last stream of a GOAWAY is not seen at all.
    mutating func judge(
        _ request: HTTP2ServerRequest, in events: borrowing HTTP2ServerEvents, on connection: inout ConnectionRecord,
        nowMillis: Int64,
        rulings: inout Rulings
    ) {
        guard request.streamID <= connection.lastStreamIDMax else { return }
        self.counters.requests += 1
        connection.statistics.requests += 1
        let bytes = events.bytes.span
        let fields = RequestFields(events.fields[request.fields], bytes: bytes)
        let messageID = fields.messageID.flatMap { MessageID.parse(bytes.extracting($0)) }
        var answer = Answer(
            streamID: request.streamID, messageID: messageID ?? (self.random.next(), self.random.next()))

        let announced = Int(self.configuration.headerListByteCountMax)
        if request.fieldsTruncated || request.fieldListByteCount > announced {
            answer.prepared = AnswerForms.fieldsTooLarge
            self.record(
                .http2, "a field list of \(request.fieldListByteCount) bytes, \(announced) were announced",
                connection: connection.statistics.number, nowMillis: nowMillis)
            self.add(answer, to: &rulings, on: &connection)
            return
        }
        let hit = self.faults.isEmpty ? nil : self.faultHitting(fields, bytes: bytes, connection: connection)
        if let hit {
            self.counters.faultsFired += 1
            switch hit.effect {
            case .answer, .answerRaw:
                answer.prepared = hit.prepared
                self.add(answer, to: &rulings, on: &connection)
                return
            case .stall(let applied), .reset(_, let applied), .cut(let applied):
                self.counters.unanswered += 1
                if applied,
                    self.verdict(fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer) == nil
                {
                    self.counters.unansweredApplied += 1
                }
                switch hit.effect {
                case .reset(let code, _): rulings.effects.append(.reset(streamID: request.streamID, code))
                case .cut: rulings.effects.append(.cut)
                case .answer, .answerRaw, .stall, .goAway, .odd, .then: break
                }
                return
            case .odd(let odd):
                self.judgeOddly(
                    odd, hit.prepared, fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer,
                    rulings: &rulings)
                return
            case .goAway(var goAway):
                if goAway.lastStream == .current {
                    goAway.lastStream = .id(request.streamID)
                    connection.lastStreamIDMax = min(connection.lastStreamIDMax, request.streamID)
                }
                rulings.effects.append(.goAway(goAway))
            case .then(let action):
                rulings.effects.append(.then(action))
            }
        }
        answer.reason = self.verdict(fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer)
        self.add(answer, to: &rulings, on: &connection)
    }

    private mutating func judgeOddly(
        _ odd: OddAnswer, _ prepared: PreparedAnswer?, _ fields: RequestFields, _ request: HTTP2ServerRequest,
        _ bytes: Span<UInt8>, on connection: inout ConnectionRecord, nowMillis: Int64, answer: inout Answer,
        rulings: inout Rulings
    ) {
        if odd.applied,
            self.verdict(fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer) == nil
        {
            self.counters.unansweredApplied += 1
        }
        if let prepared {
            answer.prepared = prepared
            self.add(answer, to: &rulings, on: &connection)
        } else {
            self.counters.unanswered += 1
            rulings.effects.append(.half(streamID: request.streamID, odd))
        }
    }

    /// The stream limit a connection is to announce.
    func streamsMax(of connection: ConnectionRecord) -> UInt32 {
        if self.configuration.opensWithOneStream, !connection.isAuthenticated {
            return min(1, self.concurrentStreamsMax)
        }
        return connection.isCollapsed ? min(1, self.concurrentStreamsMax) : self.concurrentStreamsMax
    }

    mutating func record(
        _ kind: Violation.Kind, _ detail: @autoclosure () -> String, connection: Int, token: String = "",
        nowMillis: Int64
    ) {
        self.counters.violations[kind, default: 0] += 1
        guard self.violations.count < self.configuration.violationsMax else { return }
        self.violations.append(
            Violation(
                kind: kind, detail: detail(), connection: connection,
                token: String(token.prefix(Self.tokenPrefixCount)), atMillis: nowMillis))
    }

    private mutating func faultHitting(
        _ fields: RequestFields, bytes: Span<UInt8>, connection: ConnectionRecord
    ) -> (effect: Fault.Effect, prepared: PreparedAnswer?)? {
        let path = bytes.extracting(fields.path ?? 0..<0)
        let prefixCount = min(path.count, Self.pathPrefix.utf8CodeUnitCount)
        return self.faults.hit(
            tokenText: path.extracting(prefixCount..<path.count), connection: connection.statistics.number,
            random: &self.random)
    }

    private mutating func add(_ answer: Answer, to rulings: inout Rulings, on connection: inout ConnectionRecord) {
        if let prepared = answer.prepared {
            self.counters.countRefusal(prepared)
            connection.isCollapsed =
                self.configuration.collapsesOnRejection && (400..<500).contains(prepared.status)
                && prepared.status != 410
        } else if let reason = answer.reason {
            self.counters.countRefusal(reason)
            if reason.status < 500, reason.status != 410 {
                connection.isCollapsed = self.configuration.collapsesOnRejection
            }
        } else {
            self.counters.accepted += 1
            connection.statistics.accepted += 1
            connection.isCollapsed = false
        }
        var delayNanos = self.latency.fixedMillis * 1_000_000
        if self.latency.jitterMillis > 0 {
            delayNanos += Int64(self.random.unit() * Double(self.latency.jitterMillis) * 1e6)
        }
        if delayNanos > 0 { self.counters.delayed += 1 }
        rulings.answers.append((answer, delayNanos))
    }

    // The checks, in the order an answer is decided. `nil`: accepted, and the device has the push.

    private mutating func verdict(
        _ fields: RequestFields, _ request: HTTP2ServerRequest, _ bytes: Span<UInt8>,
        on connection: inout ConnectionRecord,
        nowMillis: Int64, answer: inout Answer
    ) -> Reason? {
        if let reason = self.headerFault(fields, bytes, on: &connection, nowMillis: nowMillis) {
            self.recordRefusal(reason, fields, bytes, on: connection, nowMillis: nowMillis)
            return reason
        }
        let tokenText = bytes.extracting(fields.path ?? 0..<0)
        let prefixCount = Self.pathPrefix.utf8CodeUnitCount
        guard TokenText.decode(tokenText.extracting(prefixCount..<tokenText.count), into: &self.token) else {
            return .badDeviceToken
        }
        let hash = TokenTable.hash(self.token.span)
        var found = self.store.tokens.find(self.token.span, hash: hash)
        if found == nil {
            switch self.configuration.unknownTokens {
            case .accept:
                // A second reference, so that the store may change while the token's bytes are lent.
                let token = self.token
                found = self.store.addDevice(token.span, hash: hash)
            case .reject: return .badDeviceToken
            }
        }
        guard let index = found else {
            self.counters.devicesFull += 1
            return .serviceUnavailable
        }
        let reason = self.deviceVerdict(
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
        let prefixCount = Self.pathPrefix.utf8CodeUnitCount
        guard path.count >= prefixCount, path.extracting(0..<prefixCount).equals(Self.pathPrefix) else {
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
        if let expiration = fields.expiration, !Self.isDate(bytes.extracting(expiration)) { return .badExpirationDate }
        if let collapseID = fields.collapseID, collapseID.count > Self.collapseIDByteCountMax { return .badCollapseID }
        return nil
    }

    /// Leaves the topic's index in `connection.topicIndex`.
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

    private mutating func deviceVerdict(
        _ index: Int, _ fields: RequestFields, _ request: HTTP2ServerRequest, _ bytes: Span<UInt8>,
        on connection: ConnectionRecord,
        nowMillis: Int64, answer: inout Answer
    ) -> Reason? {
        let entry = self.store.tokens[index]
        if let reason = Self.refusal(entry.standing.state) {
            answer.timestampMillis = entry.standing.sinceMillis
            self.store.tokens[index].wasRefusedAsDead = true
            if entry.wasRefusedAsDead {
                self.record(
                    .deadTokenUsedAgain, "answered \(reason.rawValue) before", connection: connection.statistics.number,
                    token: TokenText.encode(self.token[...]), nowMillis: nowMillis)
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
        // APNs takes JSON as it is: whatever an encoding makes of it, it is none.
        if let encoding = fields.contentEncoding, !bytes.extracting(encoding).equals("identity") {
            self.recordRefusal(.payloadEmpty, fields, bytes, on: connection, nowMillis: nowMillis)
            return .payloadEmpty
        }
        guard self.takeAllowance(index, nowMillis: nowMillis) else { return .tooManyRequests }
        let priority = fields.priority.flatMap { Self.priority(bytes.extracting($0)) } ?? 10
        return self.deliver(
            index, bytes.extracting(request.body), priority: priority, on: connection, nowMillis: nowMillis)
    }

    /// A leaky bucket per device.
    private mutating func takeAllowance(_ index: Int, nowMillis: Int64) -> Bool {
        guard let perMinute = self.configuration.devicePushesPerMinuteMax else { return true }
        let entry = self.store.tokens[index]
        let gained =
            entry.allowanceMillis == .min
            ? Float(perMinute) : Float(nowMillis - entry.allowanceMillis) * Float(perMinute) / 60_000
        let allowance = min(Float(perMinute), entry.allowance + max(0, gained))
        self.store.tokens[index].allowanceMillis = nowMillis
        self.store.tokens[index].allowance = allowance >= 1 ? allowance - 1 : allowance
        return allowance >= 1
    }

    /// Hands a push that passed every check of APNs to the phone.
    private mutating func deliver(
        _ index: Int, _ body: Span<UInt8>, priority: Int, on connection: ConnectionRecord, nowMillis: Int64
    ) -> Reason? {
        let device = Int(self.store.tokens[index].device)
        let content: PushContent
        do {
            content = try PayloadReader.read(body)
        } catch {
            self.recordOn(connection, .payload, error.description, nowMillis)
            if error.kind == .unreadable { return .payloadEmpty }
            if self.configuration.refusesMeaninglessPayloads { return .invalidPushType }
            self.store.devices[device].undecodable(priority: priority, nowMillis: nowMillis)
            self.counters.undecodable += 1
            self.writeDown(index, body, priority: priority, nowMillis: nowMillis)
            return nil
        }
        let reaction = self.store.devices[device].apply(
            content, body: body, priority: priority, nowMillis: nowMillis, rules: self.configuration.deviceRules)
        self.counters.reactions[Int(reaction.rawValue)] += 1
        if priority == 10 { self.counters.highPriority += 1 }
        self.writeDown(index, body, priority: priority, nowMillis: nowMillis)
        self.watch(index, reaction, content, priority: priority, on: connection, nowMillis: nowMillis)
        self.store.tokens[index].lastPushMillis = nowMillis
        return nil
    }

    private mutating func writeDown(_ index: Int, _ body: Span<UInt8>, priority: Int, nowMillis: Int64) {
        guard self.journal != nil else { return }
        let topic = self.store.topics[Int(self.store.tokens[index].topic)]
        self.journal?.append(
            .push(
                atMillis: nowMillis, token: TokenText.encode(self.token[...]),
                topic: String(decoding: topic, as: UTF8.self), priority: priority, body: body.array))
    }

    mutating func setToken(_ token: [UInt8], _ standing: TokenStanding) {
        self.store.setToken(token, standing)
        self.journal?.append(.standing(token: TokenText.encode(token[...]), standing))
    }

    mutating func rotate(from old: [UInt8], to new: [UInt8], oldStanding: TokenStanding) {
        self.store.rotate(from: old, to: new, oldStanding: oldStanding)
        self.journal?.append(
            .rotation(old: TokenText.encode(old[...]), new: TokenText.encode(new[...]), oldStanding))
    }

    private mutating func watch(
        _ index: Int, _ reaction: Device.Reaction, _ content: PushContent, priority: Int,
        on connection: ConnectionRecord, nowMillis: Int64
    ) {
        let device = Int(self.store.tokens[index].device)
        switch reaction {
        case .shown, .ignoredRepeat, .throttled: break
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
        if let spacing = self.configuration.watchedSpacingMillis {
            let last = self.store.tokens[index].lastPushMillis
            if last != .min, nowMillis - last < spacing {
                self.recordOn(connection, .pushedTooSoon, "after \(nowMillis - last) ms", nowMillis)
            }
        }
        if let budget = self.configuration.watchedBudgetPerHour, priority == 10 {
            let count = self.store.devices[device].highPriorityCount(nowMillis: nowMillis)
            if count > budget { self.recordOn(connection, .budgetExceeded, "\(count) within an hour", nowMillis) }
        }
    }

    /// Records a violation that concerns the token at hand.
    private mutating func recordOn(
        _ connection: ConnectionRecord, _ kind: Violation.Kind, _ detail: @autoclosure () -> String, _ nowMillis: Int64
    ) {
        self.record(
            kind, detail(), connection: connection.statistics.number,
            token: TokenText.encode(self.token.prefix(Self.tokenPrefixCount / 2)),
            nowMillis: nowMillis)
    }

    private mutating func recordRefusal(
        _ reason: Reason, _ fields: RequestFields, _ bytes: Span<UInt8>, on connection: ConnectionRecord,
        nowMillis: Int64
    ) {
        guard reason.isProvidersFault else { return }
        let path = bytes.extracting(fields.path ?? 0..<0)
        let prefixCount = min(path.count, Self.pathPrefix.utf8CodeUnitCount)
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

    /// Apple: letters, digits, hyphens and full stops (CFBundleIdentifier).
    private static func isBundleID(_ name: Span<UInt8>) -> Bool {
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

    /// Decimal digits, as many as a 64-bit number of seconds may have.
    private static func isDate(_ value: Span<UInt8>) -> Bool {
        guard (1...18).contains(value.count) else { return false }
        for index in value.indices where value[index] &- 0x30 > 9 { return false }
        return true
    }
}
