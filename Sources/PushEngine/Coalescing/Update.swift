import PushModel

/// What one push will say: the newest content of a slot, and what it must still carry of the events it replaced
/// (contract: Merging).
///
/// `top` is the newest event. `under` holds older events that expire later: if `top` expires unsent, the device must
/// show the newest of these events. `under` is almost always empty; its newest event is last.
///
/// `Coalescer` writes what the update says. Others record what became of an attempt: `Dispatch` its departure,
/// `PushComposer` its token, `ShardMemory` its stamps and the announcement of a start, `Journal` that it is in a state
/// record.
struct Update {
    /// Maximum number of older events that an update keeps. When there are this many, a newer event that expires before
    /// all of them drops the oldest, but never the event that starts a card.
    static let underMax = 4

    var slot = SlotID.none
    /// A number that differs each time this element of the store is used. It is half of the `PushID`.
    var sequence: UInt32 = 0
    var top = Layer()
    var under: [Layer] = []
    /// The parts of a `start`: one element if this push is a start, otherwise none.
    var start: [StartPart] = []
    /// The highest priority of the unsent events.
    var priority = PushPriority.low
    /// When the first unsent event was taken (steady clock). The low-priority window begins then.
    var firstUnsentMillis: Int64 = 0
    /// Number of events that went into the update.
    var mergedCount: UInt32 = 0
    /// Whether the update contains an event that was in the log when the partition was assigned. A former owner may
    /// have taken such an event.
    var containsReplay = false
    /// The push's `aps.timestamp`; `nil`: not given yet. It becomes `nil` again when the content changes.
    var stampSeconds: Int64?
    /// Whether the update is an audience's, and contains an event with `"alert": null`. If so, alerts of earlier
    /// versions that members still wait for are not sent.
    var withdrawsAlert = false
    /// Whether a state record says that a `start` may have left. The start leaves only after that, so that a restart
    /// does not put up a second card.
    var isAnnounced = false

    // The following fields are about the attempt in flight.
    var sentMillis: Int64 = 0
    var sentPriority = PushPriority.low
    var tokenGeneration: UInt32 = 0
    var apnsID: (UInt64, UInt64) = (0, 0)
    /// Hash of the token that the attempt went to.
    var tokenHash: UInt64 = 0
    var notBeforeOfPrevious: Int64 = 0
    /// The slot's last stamp before this attempt got a new one; `nil`: the attempt kept its stamp.
    var stampBeforeSeconds: Int64?
    /// Whether the alert was withdrawn while the update was in flight. If the update is sent again, its content differs
    /// from that of the first attempt.
    var isChangedInFlight = false
    /// Whether the attempt went to the slot's previous token instead of the newest one (`TokenStanding.former`).
    var isToFormerToken = false

    var isStart: Bool { !self.start.isEmpty }
    var isEnd: Bool { self.top.isEnd }
    var hasAlert: Bool { !self.top.alert.isEmpty }
    /// When the first of the update's events expires, seconds since 1970; `Int64.max`: never. It is inlined, because a
    /// call would copy the whole update.
    @inline(__always) var firstExpirySeconds: Int64 {
        var first = self.top.expiresSeconds
        for layer in self.under { first = min(first, layer.expiresSeconds) }
        if let start = self.start.first { first = min(first, start.expiresSeconds, self.staleSeconds) }
        return first
    }
    /// When the newest content becomes stale, seconds since 1970; `Int64.max`: never. A phone puts up no card for a
    /// stale `start`.
    @inline(__always) var staleSeconds: Int64 { self.top.staleSeconds }
    /// Number of events whose outcome is still open.
    var eventCount: Int { 1 + self.under.count }

    /// Counts an attempt that got no answer. The update's newest event may be on the phone. An event beneath may also
    /// be there if the newest event had taken over parts of it.
    mutating func countUnansweredAttempt() {
        self.top.mayBeSent = true
        for index in self.under.indices
        // An alert that was withdrawn during the flight had left with the attempt, and may be this event's. The event
        // of a start counts, too: the attempt may have put up its card, although with newer content.
        where self.isChangedInFlight || self.under[index].isStart || self.top.isShared(with: self.under[index]) {
            self.under[index].mayBeSent = true
        }
    }
    /// Drops the alert that left with the newest event. The alert must not sound again if that event expires and an
    /// event beneath replaces it.
    mutating func dropAlert() {
        for index in self.under.indices where self.top.sharesAlert(with: self.under[index]) {
            self.under[index].alert = ByteRange()
            self.under[index].alertIsInherited = false
        }
        self.top.alert = ByteRange()
        self.top.alertIsInherited = false
    }

    /// Resets the update. Its storage is kept for the next use.
    mutating func reset() {
        self.slot = .none
        self.sequence &+= 1
        self.top.reset()
        if !self.under.isEmpty { self.under = [] }
        if !self.start.isEmpty { self.start = [] }
        self.priority = .low
        self.firstUnsentMillis = 0
        self.mergedCount = 0
        self.containsReplay = false
        self.stampSeconds = nil
        self.isAnnounced = false
        self.withdrawsAlert = false
        self.stampBeforeSeconds = nil
        self.isChangedInFlight = false
        self.isToFormerToken = false
    }
}

/// A store of updates by number. The content of busy slots is kept outside the slots, and its buffers are reused.
struct UpdateStore: ~Copyable {
    private var updates = ChunkedStore<UpdateID, Update>()
    private var free: [UpdateID] = []
    /// Byte offset of `top` within an `Update`. `offset(of:)` knows it, because `top` is a stored property.
    private let topOffset = MemoryLayout<Update>.offset(of: \.top)!
    private let blobOffset = MemoryLayout<Layer>.offset(of: \.blob)!

    var liveCount: Int { self.updates.count - self.free.count }

    subscript(_ id: UpdateID) -> Update {
        _read { yield self.updates[id] }
        _modify { yield &self.updates[id] }
    }

    mutating func make(slot: SlotID) -> UpdateID {
        let id = self.free.popLast() ?? self.updates.append(Update())
        self.updates[id].slot = slot
        return id
    }

    /// Adds an update from a state record.
    mutating func adopt(_ update: consuming Update, slot: SlotID) -> UpdateID {
        let id = self.make(slot: slot)
        let sequence = self.updates[id].sequence
        self.updates[id] = update
        self.updates[id].slot = slot
        self.updates[id].sequence = sequence
        // A later attempt may have gone unrecorded, so the next attempt gets a new stamp.
        self.updates[id].stampSeconds = nil
        return id
    }

    mutating func release(_ id: UpdateID) {
        self.updates[id].reset()
        self.free.append(id)
    }

    /// The update that a push attempt belongs to; `nil`: its element of the store has been reused.
    func id(of push: PushID) -> UpdateID? {
        let id = Self.id(in: push)
        guard self.updates.contains(id), self.updates[id].sequence == UInt32(truncatingIfNeeded: push.rawValue >> 32),
            self.updates[id].slot.isSome
        else { return nil }
        return id
    }

    /// Address of the update's newest event. Valid until the update changes or is released.
    @inline(__always) @unsafe func top(of id: UpdateID) -> UnsafePointer<Layer> {
        unsafe self.updates.withAddress(of: id) {
            unsafe ($0 + self.topOffset).assumingMemoryBound(to: Layer.self)
        }
    }

    /// Prefetches an update into which a newer event will soon be merged.
    @inline(__always) func prefetch(_ id: UpdateID) { self.updates.prefetch(id) }

    /// Prefetches the update of a push attempt, if it still exists.
    func prefetch(of push: PushID) {
        let id = Self.id(in: push)
        if self.updates.contains(id) { self.updates.prefetch(id) }
    }

    /// Prefetches the bytes of the newest event, which will soon be written over.
    @inline(__always) func prefetchBlob(_ id: UpdateID) {
        // An array is one word, the address of its storage. Access through the array would retain the storage, which
        // waits for memory.
        let top = unsafe UnsafeRawPointer(self.top(of: id))
        guard let storage = unsafe (top + self.blobOffset).load(as: UnsafeRawPointer?.self) else { return }
        unsafe Prefetch.lines(from: storage, byteCount: Layer.prefetchedBlobByteCount)
    }

    /// The update that the lower half of the push's number names. The number may be of another kind of push.
    private static func id(in push: PushID) -> UpdateID {
        UpdateID(rawValue: Int32(truncatingIfNeeded: push.rawValue))
    }

    func pushID(of id: UpdateID) -> PushID {
        PushID(rawValue: UInt64(UInt32(bitPattern: id.rawValue)) | UInt64(self.updates[id].sequence) << 32)
    }
}
