import APNSProtocol
import DeviceModel
import HTTP2Session
import PushModel

/// Everything the connections share: keys, tokens, devices, faults, counters. It is behind one lock, which is taken
/// once per batch of requests.
///
/// It decides the result of each request. The time is passed to it, and its randomness is seeded.
struct SimulatorState {
    let configuration: SimulatorConfiguration
    var providerTokens: ProviderTokenChecks
    var store: DeviceStore
    var faults = FaultList()
    var latency = Latency()
    var refusesConnections = false
    /// Whether new connections are accepted, and then nothing is read or written on them.
    var isMute = false
    var concurrentStreamsMax: UInt32
    var random: SplitMix64
    var counters = Counters()
    private(set) var violations: [Violation] = []
    /// The journal for everything that happens to phones; `nil` for none.
    var journal: JournalWriter?
    /// Decoded token of the current request; reused.
    var token: [UInt8] = []
    /// Bundle ids without the capability for broadcasts.
    var appsWithoutBroadcasts: Set<String>
    /// Maximum number of channels of an app, by bundle id, where it differs from the configuration.
    var channelsMax: [String: Int] = [:]
    /// Age of channel lists, milliseconds.
    var listLagMillis: Int64 = 0
    /// What was collected for observers.
    var sight = Sight()

    static let topicSuffix: StaticString = ".push-type.liveactivity"
    static let payloadByteCountMax = 4_096
    static let collapseIDByteCountMax = 64
    /// Longest bundle id that App Store Connect accepts.
    static let bundleIDByteCountMax = 155
    /// Number of characters of a token in a violation.
    static let tokenPrefixCount = 8

    init(configuration: SimulatorConfiguration, keys: [RegisteredKey]) {
        self.configuration = configuration
        self.providerTokens = ProviderTokenChecks(
            environment: configuration.environment, checksSignatures: configuration.checksSignatures)
        for key in keys { self.providerTokens.register(key) }
        self.store = DeviceStore(devicesMax: configuration.devicesMax)
        self.concurrentStreamsMax = configuration.concurrentStreamsMax
        self.random = SplitMix64(seed: configuration.randomSeed)
        self.appsWithoutBroadcasts = Set(configuration.appsWithoutBroadcasts)
    }

    /// Judges one whole request and adds the results to `rulings`. A request above the last stream of a GOAWAY is
    /// ignored completely.
    mutating func judge(
        _ request: HTTP2ServerRequest, in events: borrowing HTTP2ServerEvents, on connection: inout ConnectionRecord,
        nowMillis: Int64,
        rulings: inout Rulings
    ) {
        guard request.streamID <= connection.lastStreamIDMax else { return }
        if let onPush = self.configuration.onPush {
            self.judgeWatched(
                request, in: events, on: &connection, nowMillis: nowMillis, rulings: &rulings, onPush: onPush)
        } else {
            self.judgeRequest(request, in: events, on: &connection, nowMillis: nowMillis, rulings: &rulings)
        }
    }

    mutating func judgeRequest(
        _ request: HTTP2ServerRequest, in events: borrowing HTTP2ServerEvents, on connection: inout ConnectionRecord,
        nowMillis: Int64,
        rulings: inout Rulings
    ) {
        self.counters.requests += 1
        connection.statistics.requests += 1
        connection.judgedStreamIDMax = max(connection.judgedStreamIDMax, request.streamID)
        let bytes = events.bytes.span
        let fields = RequestFields(events.fields[request.fields], bytes: bytes)
        let path = RequestPath(bytes.extracting(fields.path ?? 0..<0))
        if self.configuration.onPush != nil { self.sight.request = (fields, path) }
        // One of Apple's samples identifies a broadcast by `apns-id`.
        let idField = path.isAboutChannels ? fields.requestID ?? fields.messageID : fields.messageID
        let messageID = idField.flatMap { MessageID.parse(bytes.extracting($0)) }
        var answer = Answer(
            streamID: request.streamID, isAboutChannels: path.isAboutChannels,
            messageID: messageID ?? (self.random.next(), self.random.next()))

        let announced = Int(self.configuration.headerListByteCountMax)
        if request.fieldsTruncated || request.fieldListByteCount > announced {
            answer.prepared = AnswerForms.fieldsTooLarge
            self.record(
                .http2, "a field list of \(request.fieldListByteCount) bytes, \(announced) were announced",
                connection: connection.statistics.number, nowMillis: nowMillis)
            self.add(answer, to: &rulings, on: &connection)
            return
        }
        var givenID: [UInt8]?
        let hit = self.faults.isEmpty ? nil : self.faultHitting(path, fields, bytes: bytes, connection: connection)
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
                    self.verdict(
                        path, fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer) == nil
                {
                    self.counters.unansweredApplied += 1
                }
                switch hit.effect {
                case .reset(let code, _): rulings.effects.append(.reset(streamID: request.streamID, code))
                case .cut: rulings.effects.append(.cut)
                case .answer, .answerRaw, .stall, .goAway, .odd, .then, .twice, .channelID: break
                }
                return
            case .odd(let odd):
                self.judgeOddly(
                    odd, hit.prepared, path, fields, request, bytes, on: &connection, nowMillis: nowMillis,
                    answer: &answer,
                    rulings: &rulings)
                return
            case .goAway(var goAway):
                if goAway.lastStream == .current {
                    // The client sends requests above the last stream again. So the last stream must be the highest
                    // that was judged.
                    goAway.lastStream = .id(connection.judgedStreamIDMax)
                    connection.lastStreamIDMax = min(connection.lastStreamIDMax, connection.judgedStreamIDMax)
                }
                rulings.effects.append(.goAway(goAway))
            case .then(let action):
                rulings.effects.append(.then(action))
            case .twice:
                // The second answer counts, as if a layer between client and APNs had sent the request again.
                _ = self.verdict(
                    path, fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer)
                answer.success = .push
            case .channelID(let id): givenID = id
            }
        }
        answer.reason = self.verdict(
            path, fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer)
        if let givenID, case .created = answer.success { answer.success = .created(channelID: givenID) }
        self.add(answer, to: &rulings, on: &connection)
    }

    private mutating func judgeOddly(
        _ odd: OddAnswer, _ prepared: PreparedAnswer?, _ path: RequestPath, _ fields: RequestFields,
        _ request: HTTP2ServerRequest,
        _ bytes: Span<UInt8>, on connection: inout ConnectionRecord, nowMillis: Int64, answer: inout Answer,
        rulings: inout Rulings
    ) {
        if odd.applied,
            self.verdict(
                path, fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer) == nil
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

    /// The stream limit that a connection must announce.
    func streamsMax(of connection: ConnectionRecord) -> UInt32 {
        if self.configuration.opensWithOneStream, !connection.isAuthenticated {
            return min(1, self.concurrentStreamsMax)
        }
        return connection.isCollapsed ? min(1, self.concurrentStreamsMax) : self.concurrentStreamsMax
    }

    mutating func record(
        _ kind: Violation.Kind, _ detail: @autoclosure () -> String, connection: Int, token: String = "",
        channel: String = "", nowMillis: Int64
    ) {
        self.counters.violations[kind, default: 0] += 1
        guard self.violations.count < self.configuration.violationsMax else { return }
        self.violations.append(
            Violation(
                kind: kind, detail: detail(), connection: connection,
                token: String(token.prefix(Self.tokenPrefixCount)), channel: channel, atMillis: nowMillis))
    }

    private mutating func faultHitting(
        _ path: RequestPath, _ fields: RequestFields, bytes: Span<UInt8>, connection: ConnectionRecord
    ) -> (effect: Fault.Effect, prepared: PreparedAnswer?)? {
        let pathBytes = bytes.extracting(fields.path ?? 0..<0)
        return self.faults.hit(
            FaultList.Target(
                kind: path.kind(method: bytes.extracting(fields.method ?? 0..<0)),
                connection: connection.statistics.number),
            tokenText: path.resource == .device ? pathBytes.extracting(path.name) : Span(),
            channelID: bytes.extracting(fields.channelID ?? 0..<0), random: &self.random)
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
            switch answer.success {
            case .push, .broadcast: self.counters.accepted += 1
            case .created, .body, .deleted: self.counters.channelRequestsAccepted += 1
            }
            connection.statistics.accepted += 1
            connection.isCollapsed = false
        }
        var delayNanos = self.latency.fixedMillis * 1_000_000
        if self.latency.jitterMillis > 0 {
            delayNanos += Int64(self.random.unit() * Double(self.latency.jitterMillis) * 1e6)
        }
        if delayNanos > 0 { self.counters.delayed += 1 }
        if answer.token >= 0 {
            self.store.tokens[Int(answer.token)].took()
            if delayNanos == 0 { rulings.answeredTokens.append(answer.token) }
        }
        rulings.answers.append((answer, delayNanos))
    }

    /// Counts pushes to these tokens as no longer in flight, because they are being answered.
    mutating func answered(_ tokens: [Int32]) {
        for token in tokens { self.store.tokens[Int(token)].answered() }
    }

    /// Checks a request, and carries it out if it is accepted. Returns `nil` if it is accepted.
    private mutating func verdict(
        _ path: RequestPath, _ fields: RequestFields, _ request: HTTP2ServerRequest, _ bytes: Span<UInt8>,
        on connection: inout ConnectionRecord, nowMillis: Int64, answer: inout Answer
    ) -> Reason? {
        switch (connection.door, path.resource) {
        case (.pushes, .device), (.pushes, .unknown):
            return self.deviceVerdict(
                fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer)
        case (.pushes, .broadcast):
            return self.broadcastVerdict(
                path, fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer)
        case (.management, .channels), (.management, .allChannels):
            return self.managementVerdict(
                path, fields, request, bytes, on: &connection, nowMillis: nowMillis, answer: &answer)
        case (.pushes, .channels), (.pushes, .allChannels), (.management, .device), (.management, .broadcast),
            (.management, .unknown):
            self.record(
                .request, Reason.badPath.rawValue, connection: connection.statistics.number, nowMillis: nowMillis)
            return .badPath
        }
    }
}
