public import APNSSimulator
import Hummingbird
import Listening
import HummingbirdCore
public import Logging
import NIOCore
public import PushWorker
public import ServiceLifecycle
import Synchronization

/// The page of `mailboat dev`: a web server beside a worker, a simulated APNs and an embedded Kafka that somebody else has set up.
///
/// The simulator has to be made with `onPush` and `onBroadcast` of the store that is given here; its answers can name the page of a push with
/// the store's `page(ofPush:)`.
public final class DevPageService: Service, Sendable {
    private let settings: DevPageSettings
    private let house: DevHouse
    private let logger: Logger
    private let onListening: @Sendable (DevPageAddress) -> Void
    private let port: Mutex<Int>

    /// - Parameter onListening: called once requests are taken.
    /// - Throws: `KafkaError` when no client can be made with the settings.
    public init(
        _ settings: DevPageSettings, store: TimelineStore, simulator: APNSSimulator, worker: WorkerService,
        logger: Logger, onListening: @escaping @Sendable (DevPageAddress) -> Void
    ) throws {
        self.settings = settings
        self.logger = logger
        self.onListening = onListening
        self.port = Mutex(settings.port)
        self.house = try DevHouse(settings, store: store, simulator: simulator, worker: worker, logger: logger)
    }

    /// Whether only this machine can reach an address. Another one shows every event to every client that can connect.
    public static func isLoopback(_ host: String) -> Bool { RequestGuard.isLoopback(host) }

    /// Serves until graceful shutdown. - Throws: when the address cannot be had.
    public func run() async throws {
        // Hummingbird's own lines are about each request and of no interest here.
        var quiet = self.logger
        quiet.logLevel = max(self.logger.logLevel, .warning)
        let run = String(UInt64.random(in: 0..<(1 << 40)), radix: 36)
        let router = DevRouter(house: self.house, origin: { self.address.origin }, run: run)
        let application = Application(
            router: router.router(),
            server: .http1(
                configuration: .init(
                    httpDecoderConfiguration: .init(
                        maxHeaderFieldSize: DevPageLimits.headByteCountMax,
                        maxHeaderListSize: DevPageLimits.headByteCountMax))),
            configuration: ApplicationConfiguration(
                address: .hostname(self.settings.host, port: self.settings.port), serverName: "mailboat dev",
                availableConnectionsDelegate: MaximumAvailableConnections(DevPageLimits.connectionsMax)),
            onServerRunning: { channel in
                self.port.withLock { $0 = channel.localAddress?.port ?? $0 }
                self.house.store.origin.withLock { $0 = self.address.origin }
                self.onListening(self.address)
            },
            logger: quiet)
        let house = self.house
        let work = Task.detached { await house.run() }
        try await withGracefulShutdownHandler {
            defer { work.cancel() }
            try await application.run()
        } onGracefulShutdown: {
            house.store.end()
        }
    }

    private var address: DevPageAddress {
        DevPageAddress(settings: self.settings, port: self.port.withLock { $0 })
    }
}

/// Where a page listens, and what to do there.
public struct DevPageAddress: Sendable {
    let settings: DevPageSettings
    /// The port it listens on.
    public let port: Int

    /// `http://127.0.0.1:8484`.
    public var origin: String {
        let host = self.settings.host.contains(":") ? "[\(self.settings.host)]" : self.settings.host
        return "http://\(host):\(self.port)"
    }

    /// Commands that publish a first event, and one that waits for it; each with a name.
    public var snippets: [(name: String, text: String)] {
        DevSnippets(settings: self.settings, origin: self.origin).all
    }
}
