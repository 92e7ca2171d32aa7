import PushModel

extension Layer {
    /// The size of the event's payload, in bytes.
    /// - Parameter start: the parts of the start that is sent with this content; `nil`: the event is sent as an update
    ///   or an end.
    func payloadByteCount(start: StartPart?) -> Int {
        guard let start else {
            return PayloadWriter.byteCount(
                kind: self.isEnd ? .end : .update, stampSeconds: self.sizedStampSeconds, content: self.content,
                source: self.blob.span, alert: self.blob.span.extracting(self.alert.range))
        }
        let (blob, content) = self.combined(with: start)
        return PayloadWriter.byteCount(
            kind: .start, stampSeconds: self.sizedStampSeconds, content: content, source: blob.span,
            alert: blob.span.extracting(self.alert.range))
    }

    /// The time that is used to compute the payload's size. A stamp may be later than its event's time, and must not
    /// make the payload longer than was checked.
    private var sizedStampSeconds: Int64 { max(self.timestampSeconds, EventRules.sizedStampSecondsMin) }

    /// The bytes of a start: the newest content first, then the start's own parts.
    func combined(with start: StartPart) -> (blob: [UInt8], content: PayloadContent) {
        var content = self.content
        let base = self.blob.count
        func moved(_ range: ByteRange) -> ByteRange {
            range.isEmpty ? range : ByteRange(start: Int(range.start) + base, count: Int(range.count))
        }
        content.attributesType = moved(start.content.attributesType)
        content.attributes = moved(start.content.attributes)
        content.inputPushChannel = moved(start.content.inputPushChannel)
        content.inputPushToken = start.content.inputPushToken
        return (self.blob + start.blob, content)
    }
}
