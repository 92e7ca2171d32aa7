public import NIOCore

/// Gives a shard its turns: as soon as something is to be done, or when its time has come. Confined to its event loop.
///
/// However often one is asked for in one of the ways below, a single task of that kind waits on the loop.
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

    /// How long `afterPause` waits. An event loop carries out every task that is due before it looks at its sockets again, those that tasks
    /// have added among them: without a pause a shard with much to read would hear nothing from APNs until it has read everything. The pause
    /// is long enough to last until the loop has looked for tasks, and too short for the loop to fall asleep in it.
    static let pauseMicros: Int64 = 4

    /// - Parameter turn: called on the loop, never while another one goes on. What it captures is held as long as this is.
    public init(eventLoop: any EventLoop, turn: @escaping () -> Void) {
        self.eventLoop = eventLoop
        self.turn = turn
    }

    /// A turn at once. From within a turn it is `afterPause`.
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

    /// A turn when the sockets that have bytes now have been read: it finds the answers of all of them. From within a turn it is
    /// `afterPause`.
    public func soon() {
        guard !self.isInTurn else { return self.afterPause() }
        guard !self.isSoon, !self.hasEnded else { return }
        self.isSoon = true
        self.eventLoop.assumeIsolated().execute {
            self.isSoon = false
            self.take()
        }
    }

    /// A turn that goes on where the last one stopped: after a short pause, in which sockets are served. Asked for within a turn, the pause
    /// begins at its end.
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

    /// Asks for a turn within a time. If it is asked for again before that, the turn comes when the first wanted it.
    public func within(micros: Int64) {
        guard !self.isGathering, !self.hasEnded else { return }
        self.isGathering = true
        self.eventLoop.assumeIsolated().scheduleTask(in: .microseconds(micros)) {
            self.isGathering = false
            self.take()
        }
    }

    /// A turn at a time of the steady clock, or before: a timer that fires early only looks again, and is not moved for each new request.
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

    /// No turn comes after this.
    public func end() {
        self.hasEnded = true
        self.timer?.cancel()
        self.timer = nil
    }
}
