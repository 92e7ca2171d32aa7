import PushModel

/// What one push will say: the newest content of a slot, and what it must still carry of the events it replaced (contract: Merging).
///
/// `top` is the newest event. `under` holds older events that outlive it: should `top` expire unsent, the device must show the
/// newest of those. Almost always empty. Newest last.
///
/// `Coalescer` writes what it says. What becomes of an attempt is noted by those who know: the departure by `Dispatch`, which token it went to by
/// `PushComposer`, stamps and the announcement of a start by `ShardMemory`, that it stands in a state record by `Journal`.
struct Update {
    /// A newer event that expires sooner than `underMax` older ones drops the oldest of them.
    static let underMax = 4

    var slot = SlotID.none
    /// Differs from use to use of this place; half of the `PushID`.
    var sequence: UInt32 = 0
    var top = Layer()
    var under: [Layer] = []
    /// One element while this push is a `start`.
    var start: [StartPart] = []
    /// The highest of the unsent events.
    var priority = PushPriority.low
    /// Steady; a low-priority window counts from here.
    var firstUnsentMillis: Int64 = 0
    /// How many events went into it.
    var mergedCount: UInt32 = 0
    /// An event below the log end seen at assignment is part of it.
    var containsReplay = false
    /// `aps.timestamp`, once given; `nil` again when the content changes.
    var stampSeconds: Int64?
    /// Of an audience: `"alert": null` is part of it. Alerts of versions before it that wait for members are not sent any more.
    var withdrawsAlert = false
    /// Of a `start`: a state record says that it may have left. Only then may it, so that a restart does not put up a second card.
    var isAnnounced = false

    // Of the attempt in flight.
    var sentMillis: Int64 = 0
    var sentPriority = PushPriority.low
    var tokenGeneration: UInt32 = 0
    var apnsID: (UInt64, UInt64) = (0, 0)
    /// Of the token it went to.
    var tokenHash: UInt64 = 0
    var notBeforeOfPrevious: Int64 = 0
    /// The slot's last stamp before this attempt was given a new one; `nil`: it kept the one it had.
    var stampBeforeSeconds: Int64?
    /// Its alert was withdrawn: sent again, it says something else.
    var isChangedInFlight = false
    /// The token it went to is the one before the newest (`TokenStanding.former`).
    var isToFormerToken = false

    var isStart: Bool { !self.start.isEmpty }
    var isEnd: Bool { self.top.isEnd }
    var hasAlert: Bool { !self.top.alert.isEmpty }
    /// The earliest time, seconds since 1970, at which something of it expires; `Int64.max`: never. Inlined: called, it would be given a copy
    /// of the whole update.
    @inline(__always) var firstExpirySeconds: Int64 {
        var first = self.top.expiresSeconds
        for layer in self.under { first = min(first, layer.expiresSeconds) }
        if let start = self.start.first { first = min(first, start.expiresSeconds, self.staleSeconds) }
        return first
    }
    /// From when on what it says is stale, seconds since 1970; `Int64.max`: never. A phone puts up no card for a `start` that is.
    @inline(__always) var staleSeconds: Int64 { self.top.staleSeconds }
    /// Events whose outcome is still open.
    var eventCount: Int { 1 + self.under.count }

    /// An attempt got no answer: its newest event may be on the phone, and with that what it had taken over from events that live on beneath it.
    mutating func noteAttemptUnanswered() {
        self.top.mayBeSent = true
        for index in self.under.indices
        // An alert that was withdrawn meanwhile left with the attempt. A start leaves with it, whichever content it shows.
        where self.isChangedInFlight || self.under[index].isStart || self.top.isShared(with: self.under[index]) {
            self.under[index].mayBeSent = true
        }
    }
    /// The alert that leaves with the newest event is not to sound again, should that expire and one beneath come to the front.
    mutating func dropAlert() {
        for index in self.under.indices where self.top.sharesAlert(with: self.under[index]) {
            self.under[index].alert = ByteRange()
            self.under[index].alertIsInherited = false
        }
        self.top.alert = ByteRange()
        self.top.alertIsInherited = false
    }

    /// Back to nothing; storage is kept for the next use.
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

/// A store of updates by number, so that a busy slot's content lives outside the slot and its buffers are reused.
struct UpdateStore: ~Copyable {
    private var updates = ChunkedStore<UpdateID, Update>()
    private var free: [UpdateID] = []
    /// Where in an update its newest event lies, and in that its bytes hang. Stored properties have an offset.
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

    /// One that a state record held.
    mutating func adopt(_ update: consuming Update, slot: SlotID) -> UpdateID {
        let id = self.make(slot: slot)
        let sequence = self.updates[id].sequence
        self.updates[id] = update
        self.updates[id].slot = slot
        self.updates[id].sequence = sequence
        // A later attempt may have gone unrecorded: the next one is stamped anew.
        self.updates[id].stampSeconds = nil
        return id
    }

    mutating func release(_ id: UpdateID) {
        self.updates[id].reset()
        self.free.append(id)
    }

    /// The update a push attempt belongs to, if it is still the one meant.
    func id(of push: PushID) -> UpdateID? {
        let id = Self.id(in: push)
        guard self.updates.contains(id), self.updates[id].sequence == UInt32(truncatingIfNeeded: push.rawValue >> 32),
            self.updates[id].slot.isSome
        else { return nil }
        return id
    }

    /// Where its newest event lies: what is here never moves. Valid until the update changes or is released.
    @inline(__always) @unsafe func top(of id: UpdateID) -> UnsafePointer<Layer> {
        unsafe self.updates.withAddress(of: id) {
            unsafe ($0 + self.topOffset).assumingMemoryBound(to: Layer.self)
        }
    }

    /// A newer event will be merged into it soon.
    @inline(__always) func prefetch(_ id: UpdateID) { self.updates.prefetch(id) }

    /// The update of a push attempt, if there is one, will be looked at soon.
    func prefetch(of push: PushID) {
        let id = Self.id(in: push)
        if self.updates.contains(id) { self.updates.prefetch(id) }
    }

    /// The bytes of its newest event will be written over soon.
    @inline(__always) func prefetchBlob(_ id: UpdateID) {
        // An array is one word, the address of its storage. By way of the array itself it would be retained, which is to wait for it.
        let top = unsafe UnsafeRawPointer(self.top(of: id))
        guard let storage = unsafe (top + self.blobOffset).load(as: UnsafeRawPointer?.self) else { return }
        unsafe Prefetch.lines(from: storage, byteCount: Layer.prefetchedBlobByteCount)
    }

    /// The lower half of the push's identifier, whoever made it.
    private static func id(in push: PushID) -> UpdateID {
        UpdateID(rawValue: Int32(truncatingIfNeeded: push.rawValue))
    }

    func pushID(of id: UpdateID) -> PushID {
        PushID(rawValue: UInt64(UInt32(bitPattern: id.rawValue)) | UInt64(self.updates[id].sequence) << 32)
    }
}
