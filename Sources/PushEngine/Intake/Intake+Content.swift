import PushModel

/// Makes what a slot keeps of an event. The event's bytes are copied once, out of the record.
extension Intake {
    /// Age from which a `start` without `expires` is no longer sent, seconds.
    static var startExpirySeconds: Int64 { 900 }

    /// Copies what the payload and the outcome will need into `layer`, and replaces what was there.
    /// - Parameters:
    ///   - arrival: a number that grows from event to event.
    ///   - timestamp: the result of `orderSeconds` for the event's slot.
    func fill(_ layer: inout Layer, value: Span<UInt8>, arrival: UInt64, timestamp: Int64, now: EngineTime) {
        layer.reset()
        layer.source = self.source
        layer.arrival = arrival
        layer.timestampSeconds = timestamp
        layer.alertSeconds = timestamp
        layer.contentSeconds = timestamp
        layer.stampFloorSeconds = self.timestampSeconds(now: now)
        layer.recordMillis = self.writtenMillis
        layer.takenMillis = now.steadyMillis
        layer.isEnd = self.event.kind == .end
        layer.isStart = self.event.kind == .start
        layer.isTraced = self.record.isTraced
        layer.expirationHeaderSeconds = self.event.expiresSeconds
        let given = PayloadContent(of: self.event)
        layer.content.staleDateSeconds = given.staleDateSeconds
        layer.content.dismissalDateSeconds = given.dismissalDateSeconds
        layer.content.contentState = layer.append(value.extracting(given.contentState.range))
        layer.content.relevanceScore = layer.append(value.extracting(given.relevanceScore.range))
        layer.alert = layer.append(value.extracting(self.event.alertInValue.range))
        layer.eventID = layer.append(self.event.text.span.extracting(self.event.eventIDInText.range))
        layer.traceparent = layer.append(self.traceparent.span)
        layer.expiresSeconds = self.contentExpiresSeconds
    }

    /// The parts that a `start` has besides its content.
    func startPart(value: Span<UInt8>, now: EngineTime) -> StartPart {
        var layer = Layer()
        let given = PayloadContent(of: self.event)
        var content = PayloadContent()
        content.attributesType = layer.append(value.extracting(given.attributesType.range))
        content.attributes = layer.append(value.extracting(given.attributes.range))
        content.inputPushChannel = layer.append(value.extracting(given.inputPushChannel.range))
        content.inputPushToken = given.inputPushToken
        return StartPart(
            token: Array(self.event.text[self.event.tokenInText.range]), environment: self.event.environment,
            blob: layer.blob, content: content, expiresSeconds: self.startExpiresSeconds(now: now))
    }
    /// When a `start` expires if it is still unsent, seconds since 1970.
    func startExpiresSeconds(now: EngineTime) -> Int64 {
        let writtenSeconds = min(self.writtenMillis, now.wallMillis) / 1_000
        return self.event.expiresSeconds ?? writtenSeconds + Self.startExpirySeconds
    }
}
