/// Writes the header blocks of one session (HPACK, RFC 7541), each as a HEADERS frame.
///
/// This encoder replaces nghttp2's compressor, which took 40 % of a push's instructions. Most of that went into coding
/// an `authorization` that stays the same for 45 minutes. nghttp2 still manages streams, windows, order and limits, but
/// gets requests without fields. Its HEADERS frame is replaced by one of ours. Nothing else compresses in this
/// direction, so the peer's table depends on this encoder alone.
struct HeaderEncoder {
    /// Maximum number of templates with plans. At the maximum, a new template takes over a plan that no message waits
    /// for. If messages wait for all plans, the maximum is exceeded. A hundred apps with two priorities fit.
    static let plansMax = 256
    /// Size of the largest frame that every peer accepts, bytes (RFC 9113 §4.2). A longer block is continued in
    /// CONTINUATION frames.
    private static let frameByteCountMax = 16_384
    private static let frameHeaderByteCount = 9
    private static let headersType: UInt8 = 1
    private static let continuationType: UInt8 = 9
    private static let endHeadersFlag: UInt8 = 4

    private var table = HeaderTable()
    private var plans = EntryTable<HeaderPlan>()
    /// Index of each template's plan. A plan holds its template, so that no other object gets the template's
    /// identifier.
    private var planIndexes: [ObjectIdentifier: Int] = [:]
    private var recentPlan = -1
    private var nextVictim = 0
    private var block: [UInt8] = []

    /// Uses the peer's SETTINGS_HEADER_TABLE_SIZE from now on.
    mutating func peerAllowsTable(_ byteCount: UInt32) { self.table.peerAllows(byteCount) }

    /// Announces a message with this template. Returns the number of the plan, to be passed to `append` or `forget`.
    @inline(__always)
    mutating func plan(for template: HTTP2HeaderTemplate) -> Int {
        if self.recentPlan < 0 || self.plans[self.recentPlan].pointee.template !== template {
            self.recentPlan = self.find(template)
        }
        self.plans[self.recentPlan].pointee.unsentCount += 1
        return self.recentPlan
    }

    private mutating func find(_ template: HTTP2HeaderTemplate) -> Int {
        if let index = self.planIndexes[ObjectIdentifier(template)] { return index }
        // At the maximum, a plan that no message waits for is reused. If messages wait for all plans, another is added.
        var index = -1
        if self.plans.count >= Self.plansMax {
            for offset in 0..<self.plans.count {
                let candidate = (self.nextVictim + offset) % self.plans.count
                guard self.plans[candidate].pointee.unsentCount == 0 else { continue }
                index = candidate
                self.nextVictim = candidate + 1
                break
            }
        }
        if index < 0 { index = self.plans.take() }
        if let old = self.plans[index].pointee.template { self.planIndexes[ObjectIdentifier(old)] = nil }
        self.plans[index].pointee.begin(template)
        self.planIndexes[ObjectIdentifier(template)] = index
        return index
    }

    /// Withdraws a message that was announced and will not be written.
    mutating func forget(plan: Int) { self.plans[plan].pointee.unsentCount -= 1 }

    /// Writes a HEADERS frame with the template's fields and the values of `message`. `flags` is END_STREAM or 0.
    mutating func append(
        plan index: Int, _ message: borrowing OutgoingMessage, streamID: Int32, flags: UInt8,
        to output: inout OutputBuffer
    ) {
        let plan = self.plans[index]
        plan.pointee.unsentCount -= 1
        if plan.pointee.generation == self.table.generation, !self.table.updatePending,
            self.appendPlanned(plan, message, streamID: streamID, flags: flags, to: &output)
        {
            return
        }
        self.block.removeAll(keepingCapacity: true)
        self.compose(plan, message)
        self.appendBlock(streamID: streamID, flags: flags, to: &output)
    }

    /// Writes the block according to the plan, by copying constants and values. Returns `false` if the block is too
    /// long for a frame, or a value is not in the table. Nothing is written then.
    private func appendPlanned(
        _ plan: UnsafeMutablePointer<HeaderPlan>, _ message: borrowing OutgoingMessage, streamID: Int32, flags: UInt8,
        to output: inout OutputBuffer
    ) -> Bool {
        let bound =
            plan.pointee.constants.count + message.valuesByteCount + (message.valueCount + 1) * 2
            * HPACKText.integerByteCountMax
        guard bound <= Self.frameByteCountMax else { return false }
        let frame = output.reserve(Self.frameHeaderByteCount + bound)
        let block = frame + Self.frameHeaderByteCount
        var cursor = block
        for number in 0..<plan.pointee.stepCount {
            let step = plan.pointee.steps![number]
            if step.count > 0 {
                cursor.copyMemory(from: plan.pointee.constants.base! + step.start, byteCount: step.count)
                cursor += step.count
            }
            guard step.hasValue else { break }
            let value = message.value(number)
            if step.indexedField >= 0 {
                let field = plan.pointee.template!.prepared[step.indexedField]
                guard let index = self.table.index(name: field.name, value: value) else { return false }
                cursor += HPACKText.writeInteger(index, prefixBits: 7, first: 0x80, to: cursor)
                continue
            }
            cursor += HPACKText.writeInteger(value.count, prefixBits: 7, first: 0, to: cursor)
            if value.count > 0 {
                cursor.copyMemory(from: value.baseAddress!, byteCount: value.count)
                cursor += value.count
            }
        }
        Self.writeFrameHeader(
            byteCount: cursor - block, type: Self.headersType, flags: flags | Self.endHeadersFlag, streamID: streamID,
            to: frame)
        output.commit(cursor - frame)
        return true
    }

    /// Writes the block into `self.block` field by field, and inserts fields into the table where that helps later
    /// messages. If nothing was inserted, the next block can be written by the plan that is made here.
    private mutating func compose(_ plan: UnsafeMutablePointer<HeaderPlan>, _ message: borrowing OutgoingMessage) {
        self.table.takeUpdates(into: &self.block)
        let generation = self.table.generation
        var variable = 0
        plan.pointee.discard()
        let fields = plan.pointee.template!.prepared
        for (fieldIndex, field) in fields.enumerated() {
            let start = self.block.count
            if let value = field.value {
                value.withUnsafeBytes { self.compose(field, $0, literal: field.valueLiteral) }
                plan.pointee.append(Array(self.block[start...]))
            } else {
                let value = message.value(variable)
                variable += 1
                let literal = HPACKText.plainLiteral(Array(value))
                self.compose(field, value, literal: literal)
                if field.indexing == .allowed {
                    plan.pointee.endStep(hasValue: true, indexedField: fieldIndex)
                } else {
                    plan.pointee.append(Array(self.block[start..<self.block.count - literal.count]))
                    plan.pointee.endStep(hasValue: true)
                }
            }
        }
        plan.pointee.endStep(hasValue: false)
        if self.table.generation == generation { plan.pointee.generation = generation }
    }

    /// Writes one field: as an index if the peer's table has it, otherwise as a literal. The field is inserted into the
    /// table if its `indexing` allows that and there is room.
    private mutating func compose(_ field: PreparedField, _ value: UnsafeRawBufferPointer, literal: [UInt8]) {
        if field.indexing == .allowed {
            let index = field.staticIndex > 0 ? field.staticIndex : self.table.index(name: field.name, value: value)
            if let index { return HPACKText.appendInteger(index, prefixBits: 7, first: 0x80, to: &self.block) }
        }
        let nameIndex = field.staticNameIndex > 0 ? field.staticNameIndex : (self.table.index(name: field.name) ?? 0)
        let inserts = field.indexing == .allowed || field.indexing == .name && nameIndex == 0
        if inserts, self.table.hasRoom(name: field.name, valueByteCount: value.count) {
            HPACKText.appendInteger(nameIndex, prefixBits: 6, first: 0x40, to: &self.block)
            self.table.insert(name: field.name, value: value)
        } else {
            // "Never indexed" also forbids indexing by proxies on the way; "without indexing" does not.
            HPACKText.appendInteger(
                nameIndex, prefixBits: 4, first: field.indexing == .allowed ? 0x00 : 0x10, to: &self.block)
        }
        if nameIndex == 0 { self.block.append(contentsOf: field.nameLiteral) }
        self.block.append(contentsOf: literal)
    }

    /// Puts `self.block` into a HEADERS frame and as many CONTINUATION frames as it needs.
    private func appendBlock(streamID: Int32, flags: UInt8, to output: inout OutputBuffer) {
        var start = 0
        repeat {
            let count = min(self.block.count - start, Self.frameByteCountMax)
            let isLast = start + count == self.block.count
            let frame = output.reserve(Self.frameHeaderByteCount + count)
            Self.writeFrameHeader(
                byteCount: count, type: start == 0 ? Self.headersType : Self.continuationType,
                flags: (start == 0 ? flags : 0) | (isLast ? Self.endHeadersFlag : 0), streamID: streamID, to: frame)
            self.block.withUnsafeBytes { bytes in
                (frame + Self.frameHeaderByteCount).copyMemory(from: bytes.baseAddress! + start, byteCount: count)
            }
            output.commit(Self.frameHeaderByteCount + count)
            start += count
        } while start < self.block.count
    }

    @inline(__always)
    private static func writeFrameHeader(
        byteCount: Int, type: UInt8, flags: UInt8, streamID: Int32, to memory: UnsafeMutableRawPointer
    ) {
        memory.storeBytes(of: (UInt32(truncatingIfNeeded: byteCount) << 8 | UInt32(type)).bigEndian, as: UInt32.self)
        memory.storeBytes(of: flags, toByteOffset: 4, as: UInt8.self)
        memory.storeBytes(of: streamID.bigEndian, toByteOffset: 5, as: Int32.self)
    }

    mutating func free() { self.plans.free() }
}
