import ArgumentParser
import CommandSupport
import DevPage
import Logging
import NIOCore
import ServiceLifecycle
import Synchronization
import UnixSignals

/// `mailboat demo --stay`: the page beside the story, and after it.
extension DemoCommand {
    /// Whether the story is being played.
    private final class Curtain: Sendable {
        private let isUpNow = Mutex(true)

        var isUp: Bool { self.isUpNow.withLock { $0 } }

        func fall() { self.isUpNow.withLock { $0 = false } }
    }

    /// Plays and judges the story while the page is open, then keeps the page until a signal arrives.
    /// - Returns: the verdict; `nil`: the signal arrived before it.
    func stay(
        on stage: DemoStage, store: TimelineStore, began: ContinuousClock.Instant, logger: Logger
    ) async throws -> DemoVerdict? {
        let curtain = Curtain()
        var settings = stage.pageSettings
        settings.port = self.port
        settings.refusalOfChanges = {
            // The judge counts every event and looks at every phone, so an event or phone from the page would falsify
            // the verdict.
            curtain.isUp ? "the story is being played and judged: wait until the verdict is printed" : nil
        }
        let (addresses, listening) = AsyncStream<DevPageAddress>.makeStream()
        let page = try DevPageService(
            settings, store: store, simulator: stage.simulator, worker: stage.worker, logger: logger
        ) { listening.yield($0) }
        var configuration = ServiceGroupConfiguration(
            services: [page], gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        // A browser that follows the timeline keeps its connection open. Without this limit, the shutdown would wait
        // for it.
        configuration.maximumGracefulShutdownDuration = .seconds(1)
        let group = ServiceGroup(configuration: configuration)
        let part = self.part
        return try await withThrowingTaskGroup(of: DemoVerdict?.self) { tasks in
            tasks.addTask {
                try await group.run()
                return nil
            }
            tasks.addTask {
                guard let address = await addresses.first(where: { _ in true }) else { return nil }
                Scoreboard.writeToStandardOutput("\n  page   \(address.origin)\n\n")
                let verdict = try await Self.perform(part, on: stage, began: began)
                curtain.fall()
                Scoreboard.writeToStandardOutput(
                    Self.text(verdict, began: began) + "\nThe page stays at \(address.origin); Ctrl-C ends it.\n")
                return verdict
            }
            defer { tasks.cancelAll() }
            // The first to finish is the story or a signal.
            guard let verdict = try await tasks.next() ?? nil else { return nil }
            _ = try await tasks.next()
            return verdict
        }
    }
}
