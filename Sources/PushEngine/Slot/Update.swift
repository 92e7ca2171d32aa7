import PushModel

/// What one push will say: the newest content of a slot, and what it must still carry of the events it replaced (contract §4).
///
/// `top` is the newest event. `under` holds older events that outlive it: should `top` expire unsent, the device must show the
/// newest of those. Almost always empty. Newest last.
struct Update {
    /// A newer event that expires sooner than `underMax` older ones drops the oldest of them.
    static let underMax = 4

    var slot: Int32 = -1
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

    var isStart: Bool { !self.start.isEmpty }
    var isEnd: Bool { self.top.isEnd }
    var hasAlert: Bool { !self.top.alert.isEmpty }
    /// The earliest time, seconds since 1970, at which something of it expires; `Int64.max`: never. Inlined: called, it would be given a copy
    /// of the whole update.
    @inline(__always) var firstExpirySeconds: Int64 {
        var first = self.top.expiresSeconds
        for layer in self.under { first = min(first, layer.expiresSeconds) }
        if let start = self.start.first { first = min(first, start.expiresSeconds) }
        return first
    }
    /// Events whose outcome is still open.
    var eventCount: Int { 1 + self.under.count }

    /// Back to nothing; storage is kept for the next use.
    mutating func reset() {
        self.slot = -1
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
        self.stampBeforeSeconds = nil
    }
}

/// A store of updates by number, so that a busy slot's content lives outside the slot and its buffers are reused.
struct UpdateStore: ~Copyable {
    private var updates = ChunkedStore<Update>()
    private var free: [Int32] = []
    /// Where in an update its newest event lies, and in that its bytes hang. Stored properties have an offset.
    private let topOffset = MemoryLayout<Update>.offset(of: \.top)!
    private let blobOffset = MemoryLayout<Layer>.offset(of: \.blob)!

    var liveCount: Int { self.updates.count - self.free.count }

    subscript(_ id: Int32) -> Update {
        _read { yield self.updates[Int(id)] }
        _modify { yield &self.updates[Int(id)] }
    }

    mutating func make(slot: Int32) -> Int32 {
        let id: Int32
        if let reused = self.free.popLast() {
            id = reused
        } else {
            id = Int32(self.updates.count)
            self.updates.append(Update())
        }
        self.updates[Int(id)].slot = slot
        return id
    }

    mutating func release(_ id: Int32) {
        self.updates[Int(id)].reset()
        self.free.append(id)
    }

    /// The update a push attempt belongs to, if it is still the one meant.
    func id(of push: PushID) -> Int32? {
        let id = Int(truncatingIfNeeded: push.rawValue & 0xffff_ffff)
        guard id < self.updates.count, self.updates[id].sequence == UInt32(truncatingIfNeeded: push.rawValue >> 32),
            self.updates[id].slot >= 0
        else { return nil }
        return Int32(id)
    }

    /// Where its newest event lies: what is here never moves. Valid until the update changes or is released.
    @inline(__always) @unsafe func top(of id: Int32) -> UnsafePointer<Layer> {
        unsafe self.updates.withAddress(of: Int(id)) {
            unsafe ($0 + self.topOffset).assumingMemoryBound(to: Layer.self)
        }
    }

    /// A newer event will be merged into it soon.
    @inline(__always) func prefetch(_ id: Int32) { self.updates.prefetch(Int(id)) }

    /// The update of a push attempt, if there is one, will be looked at soon.
    func prefetch(of push: PushID) {
        let id = Int(truncatingIfNeeded: push.rawValue & 0xffff_ffff)
        if id < self.updates.count { self.updates.prefetch(id) }
    }

    /// The bytes of its newest event will be written over soon.
    @inline(__always) func prefetchBlob(_ id: Int32) {
        // An array is one word, the address of its storage. By way of the array itself it would be retained, which is to wait for it.
        let top = unsafe UnsafeRawPointer(self.top(of: id))
        guard let storage = unsafe (top + self.blobOffset).load(as: UnsafeRawPointer?.self) else { return }
        unsafe Prefetch.lines(from: storage, byteCount: Layer.prefetchedBlobByteCount)
    }

    func pushID(of id: Int32) -> PushID {
        PushID(rawValue: UInt64(UInt32(bitPattern: id)) | UInt64(self.updates[Int(id)].sequence) << 32)
    }
}
