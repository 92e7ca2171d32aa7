import PushModel

/// Test fixtures for an app or a server: an event, its pushes, and their results.
extension Timeline {
    /// The story of an entry: the event, its outcome, and each push as received by APNs, with the answer and what the
    /// phone did. The event's tokens are whole, so that the event can be published again. Other tokens are cut. For a
    /// push, it is the story of the push's event, if that is known. `nil`: the entry is a note, or an event that is not
    /// JSON.
    public func fixture(of entry: TimelineEntry) -> JSONTree? {
        switch entry.body {
        case .note: return nil
        case .event: return self.fixture(event: entry, pushes: entry.related.compactMap(self.entry))
        case .push, .broadcast:
            let events = entry.related.compactMap(self.entry)
            guard let event = events.last else { return self.fixture(event: nil, pushes: [entry]) }
            return self.fixture(event: event, pushes: event.related.compactMap(self.entry))
        }
    }

    private func fixture(event entry: TimelineEntry?, pushes: [TimelineEntry]) -> JSONTree? {
        var members: [JSONTree.Member] = []
        if let entry, case .event(let event) = entry.body {
            guard let shown = event.reading.shown else { return nil }
            let whole = event.record.value.flatMap { try? JSONTree.parse($0) }.map(TokenHiding.publishable)
            members.append(.init("event", ["key": .string(event.key), "value": whole ?? shown]))
            if let rejection = event.reading.rejection {
                members.append(
                    .init("rejection", ["field": .string(rejection.field), "reason": .string(rejection.reason)]))
            }
            if let outcome = event.outcome {
                members.append(
                    .init(
                        "outcome",
                        [
                            "name": .string(outcome.name),
                            "reason": outcome.reason.isEmpty ? nil : .string(outcome.reason),
                        ]))
            }
        }
        members.append(.init("pushes", .array(pushes.sorted { $0.id < $1.id }.compactMap(Self.fixture))))
        return .object(members)
    }

    private static func fixture(push entry: TimelineEntry) -> JSONTree? {
        switch entry.body {
        case .push(let push):
            return [
                "headers": Self.headers(
                    [
                        ("apns-topic", push.topic), ("apns-priority", "\(push.priority)"),
                        ("apns-expiration", push.expirationSeconds.map { "\($0)" } ?? ""), ("apns-id", push.messageID),
                    ]), "payload": Self.payload(push.body), "answer": Self.answer(push.status, push.reason),
                "verdict": push.verdict.json,
            ]
        case .broadcast(let broadcast):
            return [
                "headers": Self.headers(
                    [
                        ("apns-channel-id", broadcast.channel), ("apns-priority", "\(broadcast.priority)"),
                        ("apns-request-id", broadcast.messageID),
                    ]), "payload": Self.payload(broadcast.body),
                "answer": Self.answer(broadcast.status, broadcast.reason), "verdict": broadcast.verdict.json,
            ]
        case .event, .note: return nil
        }
    }

    private static func headers(_ fields: [(name: String, value: String)]) -> JSONTree {
        .object(
            [.init("apns-push-type", "liveactivity")]
                + fields.filter { !$0.value.isEmpty }.map { .init($0.name, .string($0.value)) })
    }

    private static func payload(_ body: [UInt8]) -> JSONTree {
        (try? JSONTree.parse(body)).map(TokenHiding.hidden)
            ?? .string(TokenText.shortened(String(decoding: body, as: UTF8.self)))
    }

    private static func answer(_ status: Int?, _ reason: String) -> JSONTree {
        [
            "status": status.map { .integer($0) } ?? .null, "reason": reason.isEmpty ? nil : .string(reason),
        ]
    }
}
