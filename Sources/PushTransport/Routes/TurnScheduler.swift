public import NIOCore

/// Gives a shard its turns: as soon as something must be done, or when a time has come. It is confined to its event
/// loop.
///
/// For each of the ways below, only a single task waits on the loop, however often a turn is requested.
public final class TurnScheduler {
    private let eventLoop: any EventLoop
    private let turn: () -> Void
    private var isInTurn = false
    private var isSoon = false
    private var wantsPause = false
    private var isPaused = false
    private var isGathering = false
    private var timer: Scheduled<Void>?
    private var timerMillis = Int64.max
    private var hasEnded = false

    /// How long `afterPause` waits. An event loop carries out every due task before it looks at its sockets again,
    /// including those that tasks have added. Without a pause, a shard with much to read would hear nothing from APNs
    /// until it has read everything. The pause lasts until the loop has looked for tasks, and is too short for the loop
    /// to sleep in it.
    static let pauseMicros: Int64 = 4

    /// - Parameter turn: called on the loop, never during another turn. What it captures is held as long as this
    ///   object.
    public init(eventLoop: any EventLoop, turn: @escaping () -> Void) {
        self.eventLoop = eventLoop
        self.turn = turn
    }

    /// Takes a turn at once. Within a turn it is the same as `afterPause`.
    public func take() {
        guard !self.isInTurn else { return self.afterPause() }
        guard !self.hasEnded else { return }
        self.isInTurn = true
        self.turn()
        self.isInTurn = false
        guard self.wantsPause else { return }
        self.wantsPause = false
        self.afterPause()
    }

    /// Requests a turn after all sockets with bytes have been read. The turn then finds all their answers. Within a
    /// turn it is the same as `afterPause`.
    public func soon() {
        guard !self.isInTurn else { return self.afterPause() }
        guard !self.isSoon, !self.hasEnded else { return }
        self.isSoon = true
        self.eventLoop.assumeIsolated().execute {
            self.isSoon = false
            self.take()
        }
    }

    /// Requests a turn that continues where the last one stopped, after a short pause in which sockets are served.
    /// Within a turn, the pause begins at the turn's end.
    public func afterPause() {
        guard !self.isInTurn else {
            self.wantsPause = true
            return
        }
        guard !self.isPaused, !self.hasEnded else { return }
        self.isPaused = true
        self.eventLoop.assumeIsolated().scheduleTask(in: .microseconds(Self.pauseMicros)) {
            self.isPaused = false
            self.take()
        }
    }

    /// Requests a turn within a time. If it is requested again before that, the first time counts.
    public func within(micros: Int64) {
        guard !self.isGathering, !self.hasEnded else { return }
        self.isGathering = true
        self.eventLoop.assumeIsolated().scheduleTask(in: .microseconds(micros)) {
            self.isGathering = false
            self.take()
        }
    }

    /// Requests a turn at a time of the steady clock, or earlier. A timer that fires early only checks again, and is
    /// not moved for each new request.
    public func at(steadyMillis: Int64, now: Int64) {
        guard steadyMillis < self.timerMillis, !self.hasEnded else { return }
        self.timer?.cancel()
        self.timerMillis = steadyMillis
        let delayMillis = Swift.max(1, steadyMillis - now)
        self.timer = self.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(delayMillis)) {
            self.timer = nil
            self.timerMillis = .max
            self.take()
        }
    }

    /// Ends the turns.
    public func end() {
        self.hasEnded = true
        self.timer?.cancel()
        self.timer = nil
    }
}
