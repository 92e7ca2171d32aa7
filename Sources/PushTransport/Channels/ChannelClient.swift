public import APNSProtocol
public import Logging
import NIOCore
import NIOPosix
import PushModel
import Synchronization

/// Makes, reads, lists and deletes broadcast channels (Apple: "Sending channel management requests to APNs"). It has
/// its own event loop, connects for the first request, and closes idle connections. It may be used from any task. Close
/// it before releasing it.
///
/// A request that reads, lists or deletes channels is sent again if it gets no answer. A creation is not: APNs may have
/// made the channel, and an app may have only a limited number of channels.
public final class ChannelClient: Sendable {
    /// The index of the route to each home's management service.
    public let homes: [ChannelHome: Int]

    private let limits: ChannelClientLimits
    private let bundleIDs: [String]
    private let group: MultiThreadedEventLoopGroup
    private let dispatcher: NIOLoopBound<ChannelDispatcher>
    /// Whether `close` was called. An attempt is handed to the loop under this lock, so that no attempt reaches a loop
    /// that was shut down.
    private let isClosed = Mutex(false)

    /// A client without connections.
    ///
    /// - Parameters:
    ///   - routes: the routes to the management services, one for each environment and key.
    ///   - homes: the apps and environments that may be asked about. The value is the index of the home's route in
    ///     `routes`.
    ///   - providerTokens: the tokens, which others may use too. The caller starts and stops the store.
    /// - Throws: `TransportError` if trust roots cannot be read or a route names a provider key that does not exist.
    public init(
        routes: [RouteConfiguration], homes: [ChannelHome: Int], providerTokens: ProviderTokenStore,
        limits: ChannelClientLimits = ChannelClientLimits(), logger: Logger
    ) async throws {
        self.homes = homes
        self.limits = limits
        let bundleIDs = Set(homes.keys.map(\.bundleID)).sorted()
        self.bundleIDs = bundleIDs
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.group = group
        let loop = group.next()
        do {
            self.dispatcher = try await loop.submit {
                let transport = try ShardTransport(
                    eventLoop: loop, routes: routes, bundleIDs: bundleIDs, providerTokens: providerTokens,
                    randomSeed: .random(in: .min ... .max), logger: logger)
                return NIOLoopBound(ChannelDispatcher(transport: transport, limits: limits), eventLoop: loop)
            }.get()
        } catch {
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Ends all requests and closes the connections. Further calls do nothing.
    public func close() async {
        let isFirst = self.isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        guard isFirst else { return }
        let dispatcher = self.dispatcher
        try? await self.group.next().submit { dispatcher.value.close() }.get()
        try? await self.group.shutdownGracefully()
    }

    // MARK: Requests

    /// Makes a channel, and returns its id.
    public func create(_ policy: MessageStoragePolicy, in home: ChannelHome) async throws(ChannelFailure) -> String {
        let answer: ChannelAnswer
        do throws(ChannelFailure) {
            answer =
                try await self.ask(.createChannel, .create, home, body: ChannelRequest.creationBody(policy)) ?? .nothing
        } catch {
            guard case .limitReached = error.cause else { throw error }
            // Other programs may have made channels, so only APNs knows how many there are.
            throw ChannelFailure(.create, home, .limitReached(count: try? await self.list(in: home).count))
        }
        guard !answer.channelID.isEmpty else {
            throw ChannelFailure(
                .create, home,
                .unreadable("status \(answer.status) without a usable \(BroadcastRequest.channelIDName)"))
        }
        return String(decoding: answer.channelID, as: UTF8.self)
    }

    /// Asks APNs which messages a channel stores for phones that are not connected.
    public func storagePolicy(
        of channel: String, in home: ChannelHome
    ) async throws(ChannelFailure) -> MessageStoragePolicy {
        let answer = try await self.ask(.readChannel, .read, home, channel: channel) ?? .nothing
        do {
            return try ChannelBody.storagePolicy(answer.body.span)
        } catch {
            throw ChannelFailure(.read, home, channel: channel, .unreadable(error.description))
        }
    }

    /// Deletes a channel for good; its id is never used again. If an attempt got no answer and the next one finds no
    /// channel, the call succeeds.
    public func delete(_ channel: String, in home: ChannelHome) async throws(ChannelFailure) {
        _ = try await self.ask(.deleteChannel, .delete, home, channel: channel)
    }

    /// Lists the ids of all channels in the home, in APNs' order. Channels made by other programs are included.
    public func list(in home: ChannelHome) async throws(ChannelFailure) -> [String] {
        let answer = try await self.ask(.listChannels, .list, home) ?? .nothing
        guard !answer.isCut else {
            throw ChannelFailure(.list, home, .unreadable("it has more than \(ChannelRequest.listByteCountMax) bytes"))
        }
        do {
            return try ChannelBody.channelIDs(answer.body.span).map { String(decoding: $0, as: UTF8.self) }
        } catch {
            throw ChannelFailure(.list, home, .unreadable(error.description))
        }
    }

    // MARK: Attempts

    /// - Returns: APNs' answer; `nil` if a deletion found that an earlier attempt had deleted the channel.
    private func ask(
        _ kind: RequestKind, _ action: ChannelFailure.Action, _ home: ChannelHome, channel: String = "",
        body: [UInt8] = []
    ) async throws(ChannelFailure) -> ChannelAnswer? {
        guard let route = self.homes[home], let app = self.bundleIDs.firstIndex(of: home.bundleID) else {
            throw ChannelFailure(action, home, channel: channel, .notConfigured)
        }
        guard !ChannelRequest.namesChannel(kind) || ChannelID.isValid(channel) else {
            throw ChannelFailure(action, home, channel: channel, .invalidChannel)
        }
        var request = PushRequest()
        request.kind = kind
        request.app = UInt16(app)
        request.target = Array(channel.utf8)
        request.body = body
        var attempts = ChannelAttempts(kind: kind, limits: self.limits)
        var random = SystemRandomNumberGenerator()
        let beganMillis = MachineClock.now().steadyMillis
        while true {
            // Each attempt has an id of its own, by which Apple's log shows it. The fixed bits mark the id as random
            // (RFC 9562 §5.4).
            request.apnsID = (
                random.next() & ~0xf000 | 0x4000, random.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
            )
            let attempt = await self.attempt(request, route: UInt16(route))
            let elapsedMillis = MachineClock.now().steadyMillis - beganMillis
            switch attempts.ended(attempt, elapsedMillis: elapsedMillis, using: &random) {
            case .done(let answer): return answer
            case .gone: return nil
            case .failed(let cause): throw ChannelFailure(action, home, channel: channel, cause)
            case .again(let afterMillis):
                do {
                    try await Task.sleep(for: .milliseconds(afterMillis))
                } catch {
                    throw ChannelFailure(action, home, channel: channel, .closed)
                }
            }
        }
    }

    /// Waits for the attempt's end even if the task is cancelled: nobody else would learn its result.
    private func attempt(_ request: PushRequest, route: UInt16) async -> ChannelAttempt {
        let loop = self.group.next()
        let dispatcher = self.dispatcher
        let future: EventLoopFuture<ChannelAttempt>? = self.isClosed.withLock { isClosed in
            guard !isClosed else { return nil }
            let promise = loop.makePromise(of: ChannelAttempt.self)
            loop.execute { dispatcher.value.send(request, route: route, promise) }
            return promise.futureResult
        }
        // The dispatcher fulfills every promise, and fails none.
        return (try? await future?.get()) ?? .closed
    }
}

extension ChannelAnswer {
    /// An empty answer, which stands in where `ask` returns `nil`. `ask` returns `nil` only for a deletion, so nobody
    /// reads this answer.
    fileprivate static var nothing: ChannelAnswer { ChannelAnswer(status: 204, channelID: [], body: []) }
}
