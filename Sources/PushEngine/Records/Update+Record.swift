import APNSProtocol
import PushModel

/// Writes and reads an update that waits in a slot, or was on its way, as a part of the slot's record.
extension Update {
    static func write(_ update: borrowing Update, topicHashes: [UInt32], now: EngineTime, to writer: inout ByteCursor) {
        writer.byte(
            (update.priority == .high ? 1 : 0) | (update.containsReplay ? 2 : 0) | (update.isStart ? 4 : 0)
                | (update.isAnnounced ? 8 : 0) | (update.priority == .lowest ? 16 : 0)
                | (update.withdrawsAlert ? 32 : 0))
        writer.optional(update.stampSeconds)
        writer.signed(now.wallMillis - (now.steadyMillis - update.firstUnsentMillis))
        writer.unsigned(UInt64(update.mergedCount))
        update.start.first?.write(to: &writer)
        writer.unsigned(UInt64(update.under.count + 1))
        for layer in update.under { Layer.write(layer, topicHashes: topicHashes, to: &writer) }
        Layer.write(update.top, topicHashes: topicHashes, to: &writer)
    }
    init(_ reader: inout StateReader, topicHashes: [UInt32], now: EngineTime) throws(StateError) {
        let flags = try reader.byte()
        guard flags < 64, flags & 17 != 17 else { throw .malformed("update flags \(flags)") }
        self.priority = flags & 1 != 0 ? .high : flags & 16 != 0 ? .lowest : .low
        // The owner that wrote the record may have sent the update afterwards.
        self.containsReplay = true
        self.isAnnounced = flags & 8 != 0
        self.withdrawsAlert = flags & 32 != 0
        self.stampSeconds = try reader.optional()
        if let stamp = self.stampSeconds { try StateCodec.checkSeconds(stamp) }
        // The update's wait starts over, so the recorded time is ignored.
        _ = try reader.signed()
        self.firstUnsentMillis = now.steadyMillis
        self.mergedCount = UInt32(try reader.count(atMost: StateCodec.mergedCountMax, "merged events"))
        if flags & 4 != 0 { self.start = [try StartPart(&reader)] }
        let count = try reader.unsigned()
        guard count >= 1, count <= UInt64(Update.underMax + 1) else { throw .malformed("\(count) layers") }
        for _ in 1..<count { self.under.append(try Layer(&reader, topicHashes: topicHashes, now: now)) }
        self.top = try Layer(&reader, topicHashes: topicHashes, now: now)
        // The update had a stamp: it was about to leave, or had left.
        if self.stampSeconds != nil { self.countUnansweredAttempt() }
    }

    /// Describes the update for tools.
    /// - Parameter topics: names of the topics that positions can name.
    func described(topics: [String]) -> StateRecordDescription.Update {
        let byteCount =
            self.top.blob.count + self.under.reduce(0) { $0 + $1.blob.count } + (self.start.first?.blob.count ?? 0)
        func text(_ range: ByteRange) -> String { String(decoding: self.top.blob[range.range], as: UTF8.self) }
        return .init(
            event: self.isStart ? "start" : self.isEnd ? "end" : "update", priority: Int(self.priority.rawValue),
            stampSeconds: self.stampSeconds, timestampSeconds: self.top.timestampSeconds,
            expiresSeconds: self.top.expiresSeconds == .max ? nil : self.top.expiresSeconds,
            mergedCount: Int(self.mergedCount), openCount: self.eventCount, byteCount: byteCount,
            hasAlert: self.hasAlert, mayBeSent: self.top.mayBeSent, newest: .init(self.top.source, topics: topics),
            contentState: text(self.top.content.contentState), alert: text(self.top.alert))
    }
}

extension StartPart {
    fileprivate func write(to writer: inout ByteCursor) {
        writer.run(self.token.span)
        writer.byte(self.environment.rawValue)
        writer.signed(self.expiresSeconds)
        writer.run(self.blob.span)
        self.content.write(to: &writer)
    }
    fileprivate init(_ reader: inout StateReader) throws(StateError) {
        let token = try reader.run(byteCountMax: StateCodec.tokenByteCountMax)
        let environment = try StateCodec.readEnvironment(&reader)
        let expires = try StateCodec.readSeconds(&reader)
        let blob = try reader.run(byteCountMax: StateCodec.runByteCountMax)
        let content = try PayloadContent(&reader, within: blob.count)
        self.init(token: token, environment: environment, blob: blob, content: content, expiresSeconds: expires)
    }
}
