import APNSProtocol
import NIOCore
import PushModel

/// Sends the requests of a `ChannelClient`, and keeps them until they are answered. It is confined to the transport's
/// event loop.
final class ChannelDispatcher {
    private struct Waiting {
        var request: PushRequest
        var route: UInt16
        var promise: EventLoopPromise<ChannelAttempt>
        var alarm: Scheduled<Void>
    }

    let transport: ShardTransport
    private let limits: ChannelClientLimits
    private var driver: TransportDriver?
    /// Requests that wait for a connection, in order of arrival.
    private var waiting: [Waiting] = []
    private var inFlight: [UInt64: EventLoopPromise<ChannelAttempt>] = [:]
    private var requestCount: UInt64 = 0
    private var isClosed = false

    init(transport: ShardTransport, limits: ChannelClientLimits) {
        self.transport = transport
        self.limits = limits
        let driver = TransportDriver(transport) { [unowned self] answers in
            self.take(answers)
            self.submit()
        }
        self.driver = driver
        driver.start()
    }

    /// Sends a request when there is a connection. The promise gets the answer, or the reason why the request was not
    /// sent.
    func send(_ request: PushRequest, route: UInt16, _ promise: EventLoopPromise<ChannelAttempt>) {
        guard !self.isClosed else { return promise.succeed(.closed) }
        guard self.waiting.count + self.inFlight.count < self.limits.outstandingMax else {
            return promise.succeed(.overloaded)
        }
        var request = request
        self.requestCount += 1
        let id = self.requestCount
        request.id = PushID(rawValue: id)
        let alarm = self.transport.eventLoop.assumeIsolated().scheduleTask(
            in: .milliseconds(self.limits.connectionWaitMillis)
        ) { self.giveUp(id) }
        self.waiting.append(Waiting(request: request, route: route, promise: promise, alarm: alarm))
        self.driver?.wake()
    }

    private func giveUp(_ id: UInt64) {
        guard let index = self.waiting.firstIndex(where: { $0.request.id.rawValue == id }) else { return }
        let waiting = self.waiting.remove(at: index)
        waiting.promise.succeed(.notSent(self.transport.status(route: waiting.route)))
    }

    private func take(_ answers: [PushAnswer]) {
        for answer in answers {
            self.inFlight.removeValue(forKey: answer.id.rawValue)?.succeed(.answered(answer.result))
        }
    }

    private func submit() {
        guard !self.waiting.isEmpty else { return }
        var routes: [UInt16] = []
        for waiting in self.waiting where !routes.contains(waiting.route) { routes.append(waiting.route) }
        for route in routes { self.submit(route: route) }
    }

    private func submit(route: UInt16) {
        _ = self.transport.submit(route: route, max: .max) { request in
            guard let index = self.waiting.firstIndex(where: { $0.route == route }) else { return false }
            let waiting = self.waiting.remove(at: index)
            waiting.alarm.cancel()
            request = waiting.request
            self.inFlight[request.id.rawValue] = waiting.promise
            return true
        }
        if self.waiting.contains(where: { $0.route == route }) { self.transport.wantsCredit(route: route) }
    }

    /// Closes the connections. Requests that still wait or are in flight get a last answer.
    func close() {
        guard !self.isClosed else { return }
        self.isClosed = true
        self.driver?.close()
        var answers: [PushAnswer] = []
        self.transport.takeAnswers(into: &answers)
        self.take(answers)
        for waiting in self.waiting {
            waiting.alarm.cancel()
            waiting.promise.succeed(.closed)
        }
        for promise in self.inFlight.values { promise.succeed(.answered(.unknown(detail: "closed"))) }
        self.waiting.removeAll()
        self.inFlight.removeAll()
        // The driver's closure has this object unowned. A closed driver never calls the closure again.
        self.driver = nil
    }
}
