import DeviceModel
import HTTP2Session

/// Tells whoever watches of each push to a phone.
extension SimulatorState {
    /// What the request at hand came to on the phone; reused.
    struct Sight {
        var phone = ObservedPush.Phone.notReached
        var stampBeforeSeconds: Int64?
    }

    /// Judges one whole request, as `judge`, and tells the watcher if it was a push to a phone.
    mutating func judgeWatched(
        _ request: HTTP2ServerRequest, in events: borrowing HTTP2ServerEvents, on connection: inout ConnectionRecord,
        nowMillis: Int64, rulings: inout Rulings, onPush: (ObservedPush) -> Void
    ) {
        let answerCount = rulings.answers.count
        self.sight = Sight()
        self.judgeRequest(request, in: events, on: &connection, nowMillis: nowMillis, rulings: &rulings)
        let bytes = events.bytes.span
        let fields = RequestFields(events.fields[request.fields], bytes: bytes)
        let pathBytes = bytes.extracting(fields.path ?? 0..<0)
        let path = RequestPath(pathBytes)
        guard connection.door == .pushes, path.resource == .device else { return }
        let answer = rulings.answers.count > answerCount ? rulings.answers.last?.answer : nil
        let asked = fields.messageID.flatMap { MessageID.parse(bytes.extracting($0)) }
        onPush(
            ObservedPush(
                atMillis: nowMillis, messageID: (answer?.messageID ?? asked).map { MessageID.text($0) } ?? "",
                token: String(decoding: pathBytes.extracting(path.name).array, as: UTF8.self).lowercased(),
                topic: fields.topic.map { String(decoding: bytes.extracting($0).array, as: UTF8.self) } ?? "",
                priority: fields.priority.map { bytes.extracting($0).equals("5") } == true ? 5 : 10,
                body: bytes.extracting(request.body).array,
                status: answer.map { $0.prepared?.status ?? $0.reason?.status ?? 200 },
                reason: answer.flatMap { $0.prepared?.name ?? $0.reason?.rawValue } ?? "", phone: self.sight.phone,
                hadWaited: false, stampBeforeSeconds: self.sight.stampBeforeSeconds))
    }

    /// Tells the watcher of a push that had waited for its phone, which has just got it.
    func tellOfLatePush(_ token: Int, body: Span<UInt8>, priority: Int, messageID: (UInt64, UInt64), nowMillis: Int64) {
        guard let onPush = self.configuration.onPush else { return }
        let topic = self.store.tokens[token].topic
        onPush(
            ObservedPush(
                atMillis: nowMillis, messageID: MessageID.text(messageID),
                token: TokenText.encode(self.store.tokens.token(token)),
                topic: topic < 0 ? "" : String(decoding: self.store.topics[Int(topic)], as: UTF8.self),
                priority: priority, body: body.array, status: nil, reason: "", phone: self.sight.phone,
                hadWaited: true, stampBeforeSeconds: self.sight.stampBeforeSeconds))
    }

    /// What the app's own code finds wrong with the `content-state` of a push; `nil`: nothing.
    func decodingFault(_ content: PushContent?, _ body: Span<UInt8>) -> String? {
        guard let check = self.configuration.contentFault, let content, !content.contentState.isEmpty else {
            return nil
        }
        return check(body.extracting(content.contentState).array)
    }
}
