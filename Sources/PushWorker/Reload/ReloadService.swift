public import Logging
public import Redaction
public import ServiceLifecycle
import Synchronization

/// The result of one look at a configuration file.
public enum FileLook: Equatable, Sendable {
    /// The file's bytes.
    case content([UInt8])
    /// The file cannot be read; the text names the file and the reason.
    case unreadable(String)
}

/// Reads a worker's configuration again at SIGHUP. With `reload.watch`, it does so when the file has changed, too. A
/// SIGHUP that arrives while the worker starts has its effect when the worker runs.
public struct ReloadService: Service {
    /// Interval between two looks at the file.
    static let lookInterval: Duration = .seconds(2)

    private let worker: WorkerService
    private let loaded: [UInt8]?
    private let content: @Sendable () -> FileLook
    private let logger: Logger
    private let load: @Sendable () throws(ConfigurationError) -> WorkerConfiguration
    private let hangUps: HangUps
    /// Number of reloads that a SIGHUP has caused. The contents that they read are not remembered.
    private let hangUpsFollowed = Counter()
    private final class Counter: Sendable {
        private let value = Atomic(0)
        var count: Int { self.value.load(ordering: .relaxed) }
        func increment() { self.value.add(1, ordering: .relaxed) }
    }

    /// - Parameters:
    ///   - loaded: the file's bytes from which the worker's configuration was made; `nil`: there is no file. Any
    ///     difference from them is a change, even one from before `run`.
    ///   - hangUps: begun before the file was read for the first time.
    ///   - logger: logs when the file is missing, and when it is back.
    ///   - content: reads the file; not called without a file.
    ///   - load: reads the configuration from the file and the environment.
    public init(
        _ worker: WorkerService, loaded: [UInt8]?, hangUps: HangUps, logger: Logger,
        content: @escaping @Sendable () -> FileLook,
        load: @escaping @Sendable () throws(ConfigurationError) -> WorkerConfiguration
    ) {
        self.hangUps = hangUps
        self.worker = worker
        self.loaded = loaded
        self.logger = logger
        self.content = content
        self.load = load
    }

    /// Runs until graceful shutdown. Faults of a configuration are reported by the worker.
    public func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.hangUps.gather() }
                group.addTask { await self.followHangUps() }
                group.addTask { await self.followFile() }
            }
        }
    }

    private func followHangUps() async {
        for await _ in self.hangUps.wishes {
            // A worker that is starting cannot take a change. It may also have read the changed file already.
            guard await self.worker.runs() else { return }
            self.hangUpsFollowed.increment()
            _ = try? await self.worker.reload(self.load)
        }
    }

    private func followFile() async {
        guard let loaded = self.loaded else { return }
        var watch = FileWatch(loaded)
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.lookInterval)
            await self.look(&watch)
        }
    }

    /// Looks at the file once, and acts on what it finds.
    func look(_ watch: inout FileWatch) async {
        // A worker that is starting cannot take a change. The change is noticed when the worker runs.
        guard let watchesFile = self.worker.watchesFile else { return }
        let content = self.content()
        // The file is looked at even when `reload.watch` is off. Otherwise an old change would count as new when the
        // setting is turned on.
        watch.countHangUps(self.hangUpsFollowed.count)
        let found = watch.looked(at: content)
        guard watchesFile else { return }
        switch found {
        case .nothing: break
        case .changed: await self.reload(&watch)
        case .again: await self.reload(&watch, toldFaults: watch.refusedFaults)
        case .gone(let why):
            self.logger.warning(
                "the configuration file is gone: the settings read last stay in use, and reload.watch continues to look for the file",
                metadata: ["cause": "\(why)"])
        case .back: self.logger.notice("the configuration file is back")
        case .backAndChanged:
            self.logger.notice("the configuration file is back, with other settings")
            await self.reload(&watch)
        }
    }

    /// Reloads the configuration. Faults are logged by the worker.
    private func reload(_ watch: inout FileWatch, toldFaults: [ConfigurationFault] = []) async {
        do throws(ConfigurationError) {
            _ = try await self.worker.reload(self.load, toldFaults: toldFaults, whenAsked: {})
            watch.taken()
        } catch {
            watch.refused(error.faults)
        }
    }
}

/// Decides from regular looks whether a file has changed and is complete again, or has gone. Pure.
struct FileWatch {
    /// What to do after a look.
    enum Finding: Equatable {
        case nothing
        /// The file differs from before.
        case changed
        /// The file has been refused for a while and has not changed. It is tried again: something else that was
        /// missing, such as a key file, may exist by now.
        case again
        /// The file is missing, for this reason.
        case gone(String)
        /// The file exists again, unchanged.
        case back
        /// The file exists again, changed.
        case backAndChanged
    }

    /// The content when the file was last complete. `nil` after a reload by SIGHUP, which may have read another
    /// content.
    private var known: [UInt8]?
    private var hangUpCount = 0
    /// The result of the last look.
    private var last: FileLook
    /// Whether it was reported that the file is gone.
    private var isGone = false
    /// Why the present content was refused; empty when it was not.
    private(set) var refusedFaults: [ConfigurationFault] = []
    private var looksSinceRefused = 0

    /// Number of looks after which refused settings are tried again. It takes half a minute.
    static let looksBetweenTries = 15

    init(_ content: [UInt8]) {
        self.known = content
        self.last = .content(content)
    }

    /// Takes the number of reloads by SIGHUP. If it has changed, the known content is forgotten: the file may have had
    /// another content between two looks.
    mutating func countHangUps(_ count: Int) {
        guard count != self.hangUpCount else { return }
        self.hangUpCount = count
        self.known = nil
    }
    /// Remembers that the content was taken.
    mutating func taken() { self.refusedFaults = [] }
    /// Remembers that the content was refused.
    mutating func refused(_ faults: [ConfigurationFault]) {
        (self.refusedFaults, self.looksSinceRefused) = (faults, 0)
    }

    /// Takes the result of a look. A content counts only when two looks in a row have seen it, because somebody may
    /// still be writing the file at the first look.
    mutating func looked(at look: FileLook) -> Finding {
        let before = self.last
        self.last = look
        switch (look, before) {
        case (.content(let content), .content(let earlier)):
            guard content == earlier else { return .nothing }
            guard self.isGone || content != self.known else { return self.unchanged() }
            let isOther = content != self.known
            let wasGone = self.isGone
            (self.known, self.isGone) = (content, false)
            if isOther { self.refusedFaults = [] }
            return wasGone ? (isOther ? .backAndChanged : .back) : .changed
        case (.unreadable(let why), .unreadable):
            guard !self.isGone else { return .nothing }
            self.isGone = true
            return .gone(why)
        case (.content, .unreadable), (.unreadable, .content):
            return .nothing
        }
    }

    private mutating func unchanged() -> Finding {
        guard !self.refusedFaults.isEmpty else { return .nothing }
        self.looksSinceRefused += 1
        guard self.looksSinceRefused >= Self.looksBetweenTries else { return .nothing }
        self.looksSinceRefused = 0
        return .again
    }
}

// `Redacted`, because a service group describes its services in its messages, and this one contains the file's bytes.
extension ReloadService: Redacted {}
extension FileLook: Redacted {}
extension FileWatch: Redacted {}
