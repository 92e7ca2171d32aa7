public import NIOCore

/// Runs the turns of a shard: when something must be done, or when a time has come. It is confined to its event loop.
///
/// Each of the methods below has at most one task waiting on the loop, however often it is called.
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

    /// How long `afterPause` waits. An event loop runs all due tasks before it reads its sockets again, including tasks
    /// that were added meanwhile. Without a pause, a shard with much to do would read no answer of APNs until it has
    /// done everything. The pause is too short for the loop to sleep in it.
    static let pauseMicros: Int64 = 4

    /// - Parameter turn: called on the loop, never during another turn. The scheduler holds what the closure captures.
    public init(eventLoop: any EventLoop, turn: @escaping () -> Void) {
        self.eventLoop = eventLoop
        self.turn = turn
    }

    /// Runs a turn at once. Within a turn, calls `afterPause` instead.
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

    /// Requests a turn after all sockets with bytes have been read, so that the turn finds all their answers. Within a
    /// turn, calls `afterPause` instead.
    public func soon() {
        guard !self.isInTurn else { return self.afterPause() }
        guard !self.isSoon, !self.hasEnded else { return }
        self.isSoon = true
        self.eventLoop.assumeIsolated().execute {
            self.isSoon = false
            self.take()
        }
    }

    /// Requests a turn after a short pause, in which the loop serves its sockets. Within a turn, the pause begins at
    /// the turn's end.
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

    /// Requests a turn after the given time. Further requests before that turn change nothing.
    public func within(micros: Int64) {
        guard !self.isGathering, !self.hasEnded else { return }
        self.isGathering = true
        self.eventLoop.assumeIsolated().scheduleTask(in: .microseconds(micros)) {
            self.isGathering = false
            self.take()
        }
    }

    /// Requests a turn at the given time of the steady clock. Does nothing if an earlier turn is already scheduled:
    /// that turn must request the later time again.
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
