import APNSProtocol
import PushInspection
import PushModel

/// Judges records as a worker would. Writes the request that each would become if it were sent at once, by itself.
///
/// It knows the registrations of earlier records only. It leaves out what a worker decides over time (merging, budget,
/// life cycle).
struct EventCheck {
    enum Answer: Equatable {
        /// The request, or what a registration would do, as lines for a person.
        case taken(lines: [String])
        case refused(EventRejection)
    }

    /// The app of events that name no app.
    var app: String
    /// The configured apps; `nil`: no configuration is known.
    var apps: [String]?
    /// The environments of each configured app, by bundle id; `nil`: no configuration is known.
    var environments: [String: [PushEnvironment]]?
    /// What the app expects of a `content-state`; `nil`: not known.
    var schema: ContentSchema?
    /// The clock, seconds since 1970.
    var nowSeconds: Int64
    private var registrations: [[UInt8]: (token: [UInt8], environment: PushEnvironment)] = [:]
    /// Keys of records that joined an audience.
    private var members: Set<[UInt8]> = []
    private var event = DecodedEvent()
    /// Number of events so far that a worker would take and that have a `content-state`.
    private(set) var contentCount = 0

    /// How the line of a warning begins.
    private static let warningStart = "(warning: "
    /// Number of hexadecimal digits of a token that are shown.
    private static let tokenDigitsShown = 8

    init(app: String, nowSeconds: Int64) {
        self.app = app
        self.nowSeconds = nowSeconds
    }

    /// The warnings among the lines of an answer, without their brackets.
    static func warnings(in lines: [String]) -> [String] {
        lines.filter { $0.hasPrefix(Self.warningStart) }.map { String($0.dropFirst().dropLast()) }
    }

    mutating func check(_ record: RecordText) -> Answer {
        do throws(EventRejection) {
            if let key = record.key {
                try EventRules.checkKey(key.span)
            } else if !record.isBare {
                throw EventRules.missingKey
            }
            guard let value = record.value else {
                throw EventRejection(field: "value", reason: "is null: expected one JSON object")
            }
            try EventDecoder.decode(value.span, into: &self.event)
            try self.checkApp()
            // A record without a key is judged as if it had the key of the activity, channel or audience that it names.
            let isGroup = self.event.target == .channel || self.event.target == .audience
            let named = isGroup ? self.event.audienceInText : self.event.activityInText
            let key = record.key ?? Array(self.event.text[named.range])
            try EventRules.checkTarget(self.event, key: key.span)
            try self.checkEnvironment()
            switch self.event.kind {
            case .register, .unregister:
                let isMembership = self.event.target == .audience
                return .taken(lines: [isMembership ? try self.membership(record) : self.registration(record)])
            case .open:
                return .taken(lines: ["\(self.audience) gets a broadcast channel, where audience.channel is auto"])
            case .start, .update, .end: return .taken(lines: try self.request(record, value: value))
            }
        } catch { return .refused(error) }
    }

    private func checkApp() throws(EventRejection) {
        guard let apps else { return }
        guard !self.event.appInText.isEmpty else {
            if apps.count > 1 { throw EventRules.missingApp(configuredCount: apps.count) }
            return
        }
        guard !apps.contains(self.bundleID) else { return }
        throw EventRules.unknownApp(self.event.text.span.extracting(self.event.appInText.range), configured: apps)
    }

    /// Checks the environment against those of the event's app. An unknown app is refused elsewhere.
    private func checkEnvironment() throws(EventRejection) {
        guard let environments else { return }
        let isNamed = !self.event.appInText.isEmpty
        let only = environments.count == 1 ? environments.first?.value : nil
        guard let configured = isNamed ? environments[self.bundleID] : only else { return }
        try EventRules.checkEnvironment(self.event, configured: configured)
    }

    // MARK: Answers

    private mutating func registration(_ record: RecordText) -> String {
        // The value does not say whether an activity or a member unregisters, so look for a join with this key.
        if self.event.kind == .unregister, let key = record.key, self.members.remove(key) != nil {
            return "\(Self.member(key)) leaves every audience"
        }
        let token = Array(self.event.text[self.event.tokenInText.range])
        let environment = self.event.environment
        if let key = record.key {
            self.registrations[key] = self.event.kind == .register ? (token, environment) : nil
        }
        let who = Self.activity(record)
        guard self.event.kind == .register else { return "\(who) no longer has a token" }
        let budget = self.event.frequentUpdates ? ", frequent updates" : ""
        return "\(who) gets token \(Self.shortened(token)) (\(environment)\(budget))"
    }

    /// Judges a join or a leave. In a record without a key, everything but the token is judged.
    private mutating func membership(_ record: RecordText) throws(EventRejection) -> String {
        if let key = record.key {
            var token: [UInt8] = []
            try EventRules.memberToken(key: key.span, into: &token)
            if self.event.kind == .register { self.members.insert(key) }
        }
        let who = record.key.map(Self.member) ?? "the token that the key spells"
        guard self.event.kind == .register else { return "\(who) leaves \(self.audience)" }
        var traits = [self.event.isStartMember ? "to start activities" : "to update an activity"]
        traits.append(self.event.environment == .production ? "production" : "development")
        if self.event.frequentUpdates { traits.append("frequent updates") }
        if self.event.channelCapable { traits.append("channel-capable") }
        if !self.event.channelInText.isEmpty {
            let channel = String(decoding: self.event.text[self.event.channelInText.range], as: UTF8.self)
            traits.append("listens on channel \(channel)")
        }
        return "\(who) joins \(self.audience) (\(traits.joined(separator: ", ")))"
    }

    private static func member(_ key: [UInt8]) -> String { "token \(Self.shortened(digits: key))" }

    private var audience: String {
        let id = String(decoding: self.event.text[self.event.audienceInText.range], as: UTF8.self)
        return "audience “\(TokenText.shortened(id))”"
    }

    private mutating func request(_ record: RecordText, value: [UInt8]) throws(EventRejection) -> [String] {
        let recordSeconds =
            record.timestampMillis.map {
                RecordTime.believed(millis: $0, nowMillis: self.nowSeconds * 1_000) / 1_000
            } ?? self.nowSeconds
        let stampSeconds = self.event.timestampSeconds ?? min(recordSeconds, self.nowSeconds)
        try EventRules.checkContent(
            self.event, value: value.span, eventSeconds: stampSeconds, nowSeconds: self.nowSeconds)
        let state = Array(value[self.event.contentStateInValue.range])
        if !state.isEmpty { self.contentCount += 1 }
        if !state.isEmpty, let content = try? JSONTree.parse(state), let fault = self.schema?.fault(in: content) {
            throw EventRejection(field: "content-state", reason: "does not fit --content-schema: \(fault)")
        }
        if self.event.kind == .start, let schema = self.schema,
            let attributes = try? JSONTree.parse(Array(value[self.event.attributesInValue.range])),
            let type = try? JSONTree.parse(Array(value[self.event.attributesTypeInValue.range])),
            let fault = schema.fault(inAttributes: attributes, type: type)
        {
            throw EventRejection(field: "attributes", reason: "does not fit --content-schema: \(fault)")
        }
        let content = PayloadContent(of: self.event)
        let alert = value.span.extracting(self.event.alertInValue.range)
        var body: [UInt8] = []
        PayloadWriter.append(
            kind: self.event.kind, stampSeconds: stampSeconds, content: content, source: value.span, alert: alert,
            to: &body)
        let head = self.event.target == .channel ? self.broadcastHead() : self.pushHead(record)
        var rest = ["", TokenText.shortened(String(decoding: body, as: UTF8.self))]
        rest.append("(\(body.count) of \(PayloadWriter.payloadByteCountMax(for: self.event.target)) bytes)")
        if self.event.target == .audience, self.event.kind == .start {
            rest.append("(its update members get the content as an update, at priority 5 and without the alert)")
        }
        if self.event.kind == .start, self.event.staleDateSeconds ?? .max <= self.nowSeconds {
            rest.append("(not sent, but expired: its stale-date is over, and a phone shows no card that begins stale)")
        }
        let warnings = DoubtfulDates.warnings(
            inContentState: state, attributes: Array(value[self.event.attributesInValue.range]), schema: self.schema,
            nowSeconds: self.nowSeconds)
        for warning in warnings { rest.append("\(Self.warningStart)\(warning))") }
        if self.event.withdrawsAlert { rest.append("(an alert that has not been sent yet is withdrawn)") }
        return head + rest
    }

    /// Request line and headers of a push to a phone.
    private func pushHead(_ record: RecordText) -> [String] {
        let (path, host) = self.address(record)
        return [
            "\(DeviceRequest.method) \(DeviceRequest.scheme)://\(host)\(DeviceRequest.pathPrefix)\(path)",
            "\(DeviceRequest.authorizationName): bearer (provider token)",
            "\(DeviceRequest.pushTypeName): \(DeviceRequest.pushTypeValue)",
            "\(DeviceRequest.topicName): \(TokenText.shortened(self.bundleID))\(DeviceRequest.topicSuffix)",
            "\(DeviceRequest.priorityName): \(DeviceRequest.priorityValue(self.event.priority))",
            "\(DeviceRequest.expirationName): \(self.expirationSeconds)",
            "\(DeviceRequest.idName): (a new UUID)",
        ]
    }

    /// Header fields of a broadcast. What the channel stores was fixed at its creation, and is unknown here.
    private func broadcastHead() -> [String] {
        let host = Self.host(self.event.environment)
        let channel = String(decoding: self.event.text[self.event.audienceInText.range], as: UTF8.self)
        return [
            "\(DeviceRequest.method) \(DeviceRequest.scheme)://\(host)\(BroadcastRequest.pathPrefix)\(TokenText.shortened(self.bundleID))",
            "\(DeviceRequest.authorizationName): bearer (provider token)",
            "\(BroadcastRequest.channelIDName): \(channel)",
            "\(DeviceRequest.pushTypeName): \(DeviceRequest.pushTypeValue)",
            "\(DeviceRequest.priorityName): \(DeviceRequest.priorityValue(self.event.priority))",
            "\(DeviceRequest.expirationName): \(self.expirationSeconds), or 0 if the channel stores nothing",
            "\(BroadcastRequest.requestIDName): (a new UUID)",
        ]
    }

    private var bundleID: String {
        self.event.appInText.isEmpty
            ? self.app : String(decoding: self.event.text[self.event.appInText.range], as: UTF8.self)
    }

    private var expirationSeconds: Int64 {
        self.event.expiresSeconds ?? self.nowSeconds + EventRules.expirationSeconds(of: self.event.kind)
    }

    /// The path's end, with the token shortened, and the host.
    private func address(_ record: RecordText) -> (path: String, host: String) {
        if !self.event.tokenInText.isEmpty {
            let token = Array(self.event.text[self.event.tokenInText.range])
            return (Self.shortened(token), Self.host(self.event.environment))
        }
        if self.event.target == .audience {
            let token = self.event.kind == .start ? "push-to-start token" : "update token"
            return ("(each \(token) in \(self.audience))", Self.host(.production))
        }
        if let key = record.key, let registration = self.registrations[key] {
            return (Self.shortened(registration.token), Self.host(registration.environment))
        }
        return ("(the token registered for \(Self.activity(record)))", Self.host(.production))
    }

    private static func host(_ environment: PushEnvironment) -> String {
        environment == .production ? APNSHost.production : APNSHost.development
    }

    private static func activity(_ record: RecordText) -> String {
        guard let key = record.key else { return "the activity that the key names" }
        return "activity “\(TokenText.shortened(String(decoding: key, as: UTF8.self)))”"
    }

    /// A shortened token. A token is a kind of secret: the text is enough to tell two apart, and not enough to push.
    private static func shortened(_ token: [UInt8]) -> String {
        var digits: [UInt8] = []
        Hex.append(token.span, to: &digits)
        return Self.shortened(digits: digits)
    }

    private static func shortened(digits: [UInt8]) -> String {
        guard digits.count > Self.tokenDigitsShown else { return String(decoding: digits, as: UTF8.self) }
        return String(decoding: digits.prefix(Self.tokenDigitsShown), as: UTF8.self) + "…(\(digits.count) digits)"
    }
}
