import DeviceModel
import HTTP2Session

/// Reports each push and broadcast to observers.
extension SimulatorState {
    /// What is collected about the current request for observers. Each request begins with a new value.
    struct Sight {
        var phone = ObservedPush.Phone.notReached
        var stampBeforeSeconds: Int64?
        /// Fields and path of the request; `nil` until they have been read.
        var request: (fields: RequestFields, path: RequestPath)?
    }

    /// Judges one whole request, and reports it to the observer if it was a push to a phone or a broadcast.
    mutating func judgeWatched(
        _ request: HTTP2ServerRequest, in events: borrowing HTTP2ServerEvents, on connection: inout ConnectionRecord,
        nowMillis: Int64, rulings: inout Rulings, onPush: (ObservedPush) -> Void
    ) {
        let answerCount = rulings.answers.count
        self.sight = Sight()
        self.judgeRequest(request, in: events, on: &connection, nowMillis: nowMillis, rulings: &rulings)
        let bytes = events.bytes.span
        guard connection.door == .pushes, let (fields, path) = self.sight.request,
            path.resource == .device || path.resource == .broadcast
        else { return }
        let pathBytes = bytes.extracting(fields.path ?? 0..<0)
        if path.resource == .device, let wantsPush = self.configuration.wantsPush {
            let status = rulings.answers.count > answerCount ? rulings.answers.last?.answer.status : nil
            let glimpse = PushGlimpse(atMillis: nowMillis, status: status, phone: self.sight.phone, hadWaited: false)
            guard wantsPush(glimpse, pathBytes.extracting(path.name), bytes.extracting(request.body)) else {
                if status != nil { rulings.answers[rulings.answers.count - 1].answer.isPassedOver = true }
                return
            }
        }
        let answer = rulings.answers.count > answerCount ? rulings.answers.last?.answer : nil
        let asked = fields.messageID.flatMap { MessageID.parse(bytes.extracting($0)) }
        let messageID = (answer?.messageID ?? asked).map { MessageID.text($0) } ?? ""
        let name = String(decoding: pathBytes.extracting(path.name).array, as: UTF8.self)
        let priority = fields.priority.flatMap { Self.number(bytes.extracting($0)) } ?? 10
        let status = answer.map(\.status)
        let reason = answer.flatMap { $0.prepared?.reason ?? $0.reason?.rawValue } ?? ""
        guard path.resource == .device else {
            let channel = fields.channelID.map { bytes.extracting($0).array } ?? []
            self.reportBroadcast(
                ObservedBroadcast(
                    atMillis: nowMillis, messageID: messageID, channel: String(decoding: channel, as: UTF8.self),
                    app: name, priority: priority, body: bytes.extracting(request.body).array, status: status,
                    reason: reason, listenerCount: 0, awayCount: 0))
            return
        }
        onPush(
            ObservedPush(
                atMillis: nowMillis, messageID: messageID, token: name.lowercased(),
                topic: fields.topic.map { String(decoding: bytes.extracting($0).array, as: UTF8.self) } ?? "",
                priority: priority == 5 ? 5 : 10,
                expirationSeconds: fields.expiration.flatMap { Self.date(bytes.extracting($0)) },
                body: bytes.extracting(request.body).array, status: status,
                reason: reason, phone: self.sight.phone, hadWaited: false,
                stampBeforeSeconds: self.sight.stampBeforeSeconds))
    }

    private static func number(_ text: Span<UInt8>) -> Int? { Int(String(decoding: text.array, as: UTF8.self)) }

    private func reportBroadcast(_ broadcast: ObservedBroadcast) {
        guard let onBroadcast = self.configuration.onBroadcast else { return }
        var broadcast = broadcast
        let number = self.store.channels.number(id: Array(broadcast.channel.utf8))
        let listeners = number.flatMap { self.store.channels[$0]?.listeners } ?? []
        broadcast.listenerCount = listeners.count
        broadcast.awayCount = listeners.count { !self.store.isOnline(Int($0)) }
        onBroadcast(broadcast)
    }

    /// Reports a push that had waited for its phone, which has just got it.
    func reportStoredPush(_ token: Int, body: Span<UInt8>, priority: Int, messageID: (UInt64, UInt64), nowMillis: Int64)
    {
        guard let onPush = self.configuration.onPush else { return }
        let tokenText = TokenHex.encode(self.store.tokens.token(token))
        if let wantsPush = self.configuration.wantsPush {
            let glimpse = PushGlimpse(atMillis: nowMillis, status: nil, phone: self.sight.phone, hadWaited: true)
            guard wantsPush(glimpse, Array(tokenText.utf8).span, body) else { return }
        }
        let topic = self.store.tokens[token].topic
        onPush(
            ObservedPush(
                atMillis: nowMillis, messageID: MessageID.text(messageID),
                token: tokenText,
                topic: topic < 0 ? "" : String(decoding: self.store.topics[Int(topic)], as: UTF8.self),
                priority: priority, body: body.array, status: nil, reason: "", phone: self.sight.phone,
                hadWaited: true, stampBeforeSeconds: self.sight.stampBeforeSeconds))
    }

    /// What the app's own code finds wrong with the content of a push; `nil` if nothing.
    func decodingFault(_ content: PushContent?, _ body: Span<UInt8>, token index: Int) -> String? {
        guard let check = self.configuration.contentFault, let content, !content.contentState.isEmpty else {
            return nil
        }
        return check(content, body) { self.app(ofToken: index) ?? "" }
    }
}
