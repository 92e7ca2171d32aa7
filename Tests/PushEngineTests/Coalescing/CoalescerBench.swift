import PushModel

@testable import PushEngine

/// A coalescer alone, with one slot. The bench makes events as `Intake` would and records the number of each event
/// that ended.
final class CoalescerBench: PartBench {
    /// How an event ended.
    struct Ended: Equatable {
        var event: Int64
        var outcome: Outcome
        var cause = OutcomeDetails.Cause.none
        /// Number of the event that replaced the ended event.
        var into: Int64?
        var keepsAlert = false
        var keepsPriority = false
    }

    var coalescer: Coalescer
    private(set) var ended: [Ended] = []
    private(set) var slot = SlotID.none
    /// Number of events taken.
    private(set) var takenCount: Int64 = 0

    init(takesShorterWays: Bool = false, publication: OutcomePublication = .all) {
        self.coalescer = Coalescer(takesShorterWays: takesShorterWays)
        super.init(Self.configuration { $0.settings.outcomePublication = publication })
        self.slot = self.makeSlot("a")
    }

    /// Takes an event into the slot and returns its number, counted from 1. The event's content and its offset are
    /// that number.
    /// - Parameters:
    ///   - seconds: timestamp of the event.
    ///   - expires: seconds from now until the event expires; `nil`: never. The content of a start never expires.
    ///   - isStart: whether the event brings the parts of a start.
    ///   - padding: bytes that make the content larger.
    ///   - attributesByteCount: size of a start's attributes.
    ///   - withdrawsAlert: whether the event has `"alert": null`.
    @discardableResult
    func take(
        at seconds: Int64, expires: Int64? = nil, alert: String = "", priority: PushPriority = .low,
        isEnd: Bool = false, isStart: Bool = false, hasContent: Bool = true, mayBeSent: Bool = false,
        isReplay: Bool = false, padding: Int = 0, attributesByteCount: Int = 0, withdrawsAlert: Bool = false
    ) -> Int64 {
        self.takenCount += 1
        self.coalescer.scratchLayer.reset()
        var layer = Layer()
        layer.source = SourcePosition(topic: 0, partition: 0, offset: self.takenCount)
        layer.arrival = UInt64(self.takenCount)
        layer.timestampSeconds = seconds
        layer.stampFloorSeconds = seconds
        layer.alertSeconds = seconds
        layer.contentSeconds = seconds
        let expiresSeconds = expires.map { self.now.wallSeconds + $0 } ?? .max
        layer.expiresSeconds = isStart ? .max : expiresSeconds
        layer.isEnd = isEnd
        layer.isStart = isStart
        layer.mayBeSent = mayBeSent
        if hasContent {
            layer.content.contentState = layer.append(Self.content(self.takenCount, padding: padding).span)
        }
        layer.alert = layer.append(Array(alert.utf8).span)
        self.coalescer.scratchLayer = layer
        var start = StartPart(
            token: [0x57], environment: .production, blob: Array(repeating: 0x31, count: attributesByteCount),
            content: PayloadContent(), expiresSeconds: expiresSeconds)
        start.content.attributes = ByteRange(start: 0, count: attributesByteCount)
        self.memory.counters.pending += 1
        if withdrawsAlert { self.coalescer.withdrawAlerts(of: self.slot, in: &self.memory) }
        self.coalescer.merge(
            into: self.slot, start: isStart ? start : nil, priority: priority, isReplay: isReplay, in: &self.memory,
            now: self.now)
        self.settle()
        return self.takenCount
    }

    private static func content(_ number: Int64, padding: Int) -> [UInt8] {
        Array((#"{"n":\#(number),"pad":""# + String(repeating: "x", count: padding) + #""}"#).utf8)
    }

    // MARK: Attempts

    /// Sends the pending update. Returns `false` if there is none, or if another update is in flight.
    @discardableResult
    func send() -> Bool {
        guard self[self.slot].pending.isSome, self[self.slot].inFlight.isNone else { return false }
        self.coalescer.putInFlight(self.slot, in: &self.memory)
        return true
    }

    /// Ends the attempt as failed.
    func requeue() {
        self.coalescer.requeueInFlight(self.slot, in: &self.memory)
        self.settle()
    }

    /// Ends the attempt as accepted: the device has the update. Does the same as `ShardEngine.accepted`.
    func accept() {
        let update = self[self.slot].inFlight
        self.coalescer.endUnder(update, in: &self.memory)
        self.settle()
        let top = self[update].top
        self.ended.append(Ended(event: top.source.offset, outcome: .delivered))
        self.memory.counters.pending -= 1
        self.memory.rememberAccepted(update, of: self.slot, now: self.now)
        self.coalescer.dropUpdate(update, of: self.slot, in: &self.memory)
        self.coalescer.dropOlderThanAccepted(self.slot, in: &self.memory)
        self.settle()
    }

    /// Expires the events that are due. Returns whether the slot has to be written to `state`.
    @discardableResult
    func expire() -> Bool {
        let mustBeWritten = self.coalescer.expire(self.slot, in: &self.memory, now: self.now)
        self.settle()
        return mustBeWritten
    }

    /// Moves the coalescer's endings to `ended`. The engine would give them to the journal.
    private func settle() {
        for index in self.coalescer.endings.indices {
            let ending = self.coalescer.endings[index]
            self.ended.append(
                Ended(
                    event: ending.source.offset, outcome: ending.outcome, cause: ending.cause,
                    into: ending.into?.offset, keepsAlert: ending.keepsAlert, keepsPriority: ending.keepsPriority))
            self.memory.counters.pending -= 1
        }
        self.coalescer.forgetEndings()
    }

    // MARK: What waits

    var pending: Update? { self.update(self[self.slot].pending) }
    var behind: Update? { self.update(self[self.slot].behind) }
    var inFlight: Update? { self.update(self[self.slot].inFlight) }
    private func update(_ id: UpdateID) -> Update? { id.isSome ? self[id] : nil }
    /// Number of updates that the slot has.
    var heldCount: Int {
        [self[self.slot].pending, self[self.slot].behind, self[self.slot].inFlight].count { $0.isSome }
    }
}

extension Update {
    /// Numbers of the update's events: those beneath, then the newest.
    var events: [Int64] { (self.under + [self.top]).map(\.source.offset) }
    var alertText: String { self.top.text(self.top.alert) }
    /// The number in the update's content, or `nil` without content.
    var contentNumber: Int64? {
        let text = self.top.text(self.top.content.contentState)
        return text.isEmpty ? nil : Int64(text.dropFirst(5).prefix { $0.isNumber })
    }
}

extension Layer {
    func text(_ range: ByteRange) -> String { String(decoding: self.blob[range.range], as: UTF8.self) }
}
