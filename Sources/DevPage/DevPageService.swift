public import APNSSimulator
import Hummingbird
import Listening
import HummingbirdCore
public import Logging
import NIOCore
public import PushWorker
public import ServiceLifecycle
import Synchronization

/// The page of `mailboat dev`: a web server beside a worker, a simulated APNs and an embedded Kafka, which the caller
/// sets up.
///
/// Create the simulator with the store's `takePush` and `takeBroadcast` as `onPush` and `onBroadcast`. With the store's
/// `page(ofPush:)`, its answers can name the page of a push.
public final class DevPageService: Service, Sendable {
    private let settings: DevPageSettings
    private let house: DevHouse
    private let logger: Logger
    private let onListening: @Sendable (DevPageAddress) -> Void
    private let port: Mutex<Int>

    /// Creates the service.
    /// - Parameter onListening: called once requests are accepted.
    /// - Throws: `KafkaError` when no client can be created with the settings.
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

    /// Whether only this machine can reach an address. At any other address, every client that can connect sees every
    /// event.
    public static func isLoopback(_ host: String) -> Bool { RequestGuard.isLoopback(host) }

    /// Serves until graceful shutdown.
    /// - Throws: when the server cannot listen on the address.
    public func run() async throws {
        // Hummingbird logs a line for each request, which is of no interest here.
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

/// Where a page listens, and commands for a first event.
public struct DevPageAddress: Sendable {
    let settings: DevPageSettings
    /// The port on which the page listens.
    public let port: Int

    /// The origin, such as `http://127.0.0.1:8484`.
    public var origin: String {
        let host = self.settings.host.contains(":") ? "[\(self.settings.host)]" : self.settings.host
        return "http://\(host):\(self.port)"
    }

    /// Commands that publish a first event, and one that waits for it, for a terminal. Each has a name.
    public var snippets: [(name: String, text: String)] {
        DevSnippets(settings: self.settings, origin: self.origin).short
    }
}
