import PushModel

/// Appends parts of a record.
extension RecordBatch {
    mutating func append(_ bytes: Span<UInt8>) -> Range<Int> {
        let start = self.bytes.count
        self.bytes.append(copying: bytes)
        return start..<self.bytes.count
    }

    mutating func append(_ text: StaticString) -> Range<Int> {
        let start = self.bytes.count
        self.bytes.append(utf8: text)
        return start..<self.bytes.count
    }

    mutating func appendHeader(_ header: RecordHeader, text: String) {
        let name = self.append(header.name)
        let start = self.bytes.count
        self.bytes.append(contentsOf: text.utf8)
        self.headers.append(Header(name: name, value: start..<self.bytes.count))
    }

    mutating func appendHeader(_ header: RecordHeader, number: Int64) {
        let name = self.append(header.name)
        let start = self.bytes.count
        JSONBytes.appendInteger(number, to: &self.bytes)
        self.headers.append(Header(name: name, value: start..<self.bytes.count))
    }

    /// Appends the headers that continue an event's trace.
    /// - Parameter carried: see `TraceContext.headerByteCount(ofCarried:isTraced:)`.
    mutating func appendTrace(_ carried: Span<UInt8>, isTraced: Bool) {
        let byteCount = TraceContext.headerByteCount(ofCarried: carried.count, isTraced: isTraced)
        let name = self.append("traceparent")
        self.headers.append(Header(name: name, value: self.append(carried.extracting(first: byteCount))))
        guard byteCount < carried.count else { return }
        let stateName = self.append("tracestate")
        self.headers.append(Header(name: stateName, value: self.append(carried.extracting(droppingFirst: byteCount))))
    }

    /// Appends a record.
    /// - Parameters:
    ///   - partition: -1 leaves it to the partitioner.
    ///   - timestampMillis: since 1970; 0: now.
    mutating func append(
        _ topic: EngineRecord.Topic, partition: Int32 = -1, key: Range<Int>, value: Range<Int>,
        headers: Range<Int> = 0..<0, hasNoKey: Bool = false, hasNoValue: Bool = false, timestampMillis: Int64 = 0,
        acknowledgement: UInt64
    ) {
        if topic == .routed { self.isUrgent = true }
        let record = EngineRecord(
            topic: topic, partition: partition, key: key, hasKey: !hasNoKey, value: value, isTombstone: hasNoValue,
            headers: headers, timestampMillis: timestampMillis, acknowledgement: acknowledgement)
        self.records.append(record)
        let byteCount = UInt32(clamping: headers.isEmpty ? key.count + value.count : self.byteCount(of: record))
        if byteCount > self.recordByteCountMax { self.recordByteCountMax = byteCount }
    }
}
