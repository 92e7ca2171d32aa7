public import Logging
public import NIOCore
public import PushEngine

/// The way out of one shard: its connections to APNs, all routes. Confined to `eventLoop`: made, called and released there.
///
/// A turn of the shard is: `submit` as long as `credit` lasts and something is ready, then `flushAll` once. Answers come back in batches.
public final class ShardTransport {
    public let eventLoop: any EventLoop

    /// Called on the loop with the answers of one read (or of one timeout, or one lost connection), each push exactly once. Pushes may be
    /// submitted from within; call `flushAll` afterwards. The array is lent: keep nothing of it.
    public var onAnswers: ([PushAnswer]) -> Void = { _ in }
    /// Called on the loop when a route's credit rose from 0 and no answer said so: a connection became ready, a pause ended. At most once
    /// per turn.
    public var onCredit: () -> Void = {}

    /// Nothing is opened yet. Throws when trust roots cannot be read or a route names a provider key that does not exist.
    ///
    /// - Parameters:
    ///   - bundleIDs: of the apps in the order of `EngineConfiguration.apps`; `PushRequest.app` is an index into it.
    ///   - randomSeed: for jitter and for the spread over addresses.
    public init(
        eventLoop: any EventLoop, routes: [RouteConfiguration], bundleIDs: [String], providerTokens: ProviderTokenStore,
        randomSeed: UInt64, logger: Logger
    ) throws(TransportError) {
        self.eventLoop = eventLoop
    }

    /// Opens the warm connections.
    public func start() {}

    /// Requests that may be submitted on `route` now. 0 also means: no connection yet. Call `wantsCredit` when something is ready then.
    public func credit(route: UInt16) -> Int { 0 }

    /// Says that pushes wait for credit on `route`: a connection is opened if that may help. Cheap; call it once per turn and waiting route.
    public func wantsCredit(route: UInt16) {}

    /// Lends a request to `fill`, which fills it whole and returns `true`, and queues it on a connection of `route`; nothing is written before
    /// `flushAll`. Returns `false` when there is no credit or `fill` returned `false`.
    public func submit(route: UInt16, fill: (inout PushRequest) -> Bool) -> Bool { false }

    /// Writes out what was submitted, one flush per connection. Call it at the end of a turn.
    public func flushAll() {}

    /// Pushes without an answer yet, all routes.
    public var inFlightCount: Int { 0 }

    /// How `route` stands and what it did.
    public func counters(route: UInt16) -> RouteCounters { RouteCounters() }

    /// Credit becomes 0 for good; requests in flight may finish. `whenDone` is called on the loop, once: when the last is answered, or
    /// after `deadlineMillis` (from now), when what is left is answered as unknown. Then every connection is closed.
    public func drain(deadlineMillis: Int64, whenDone: @escaping () -> Void) {}

    /// Closes every connection at once. What is in flight is answered as unknown, what never left as not processed.
    public func close() {}
}
