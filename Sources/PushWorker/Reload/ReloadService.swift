public import Logging
public import Redaction
public import ServiceLifecycle
import Synchronization

/// What a look at a configuration file finds.
public enum FileLook: Equatable, Sendable {
    /// Its bytes.
    case content([UInt8])
    /// It cannot be read; names the file and says why.
    case unreadable(String)
}

/// Reads a worker's configuration again at SIGHUP and, with `reload.watch`, when its file has changed. A SIGHUP that comes while the worker starts is
/// followed when it runs.
public struct ReloadService: Service {
    /// The time between two looks at the file.
    static let lookInterval: Duration = .seconds(2)

    private let worker: WorkerService
    private let loaded: [UInt8]?
    private let content: @Sendable () -> FileLook
    private let logger: Logger
    private let load: @Sendable () throws(ConfigurationError) -> WorkerConfiguration
    private let hangUps: HangUps
    /// Each has had the file read, and nobody remembers as what.
    private let hangUpsFollowed = Counter()
    private final class Counter: Sendable {
        private let value = Atomic(0)
        var count: Int { self.value.load(ordering: .relaxed) }
        func increment() { self.value.add(1, ordering: .relaxed) }
    }

    /// - Parameters:
    ///   - loaded: the file's bytes that the worker's configuration was made of: what differs from them is a change, also one of before `run`;
    ///     `nil`: there is no file.
    ///   - hangUps: begun before the file was read for the first time.
    ///   - logger: is told when the file is gone, and when it is back.
    ///   - content: what is seen of the file now; without a file it is not asked.
    ///   - load: what the file and the environment say now.
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

    /// Until graceful shutdown. What is wrong with a configuration is said by the worker.
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
            // While it starts it takes nothing, and may have read what has changed since.
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

    /// One look at the file, and what follows from it.
    func look(_ watch: inout FileWatch) async {
        // A worker that starts could not take a change: it is seen when the worker runs.
        guard let watchesFile = self.worker.watchesFile else { return }
        let content = self.content()
        // What was changed while nobody watched is no change when somebody does.
        watch.noteHangUps(self.hangUpsFollowed.count)
        let found = watch.looked(at: content)
        guard watchesFile else { return }
        switch found {
        case .nothing: break
        case .changed: await self.reload(&watch)
        case .again: await self.reload(&watch, toldFaults: watch.refusedFaults)
        case .gone(let why):
            self.logger.warning(
                "the configuration file is gone: the settings read last stay in force, and reload.watch goes on looking",
                metadata: ["cause": "\(why)"])
        case .back: self.logger.notice("the configuration file is back")
        case .backAndChanged:
            self.logger.notice("the configuration file is back, with other settings")
            await self.reload(&watch)
        }
    }

    /// What is wrong is logged by the worker.
    private func reload(_ watch: inout FileWatch, toldFaults: [ConfigurationFault] = []) async {
        do throws(ConfigurationError) {
            _ = try await self.worker.reload(self.load, toldFaults: toldFaults, whenAsked: {})
            watch.taken()
        } catch {
            watch.refused(error.faults)
        }
    }
}

/// When a file that is looked at now and then has changed and is whole again, or has gone. Pure.
struct FileWatch {
    /// What there is to do after a look.
    enum Finding: Equatable {
        case nothing
        /// It is another than before.
        case changed
        /// It is as it was when it was refused, a while ago: what was missing beside it, such as a key file, may be there by now.
        case again
        /// It is not there, for the reason given.
        case gone(String)
        /// It is there again, as it was.
        case back
        /// It is there again, and another.
        case backAndChanged
    }

    /// As it was when it was last whole; `nil`: a SIGHUP has had it read since, and it is read again.
    private var known: [UInt8]?
    private var hangUpCount = 0
    /// As it was at the last look.
    private var last: FileLook
    /// It has been said that the file is gone.
    private var isGone = false
    /// Why it was refused as it is; empty: it was not.
    private(set) var refusedFaults: [ConfigurationFault] = []
    private var looksSinceRefused = 0

    /// Number of looks after which refused settings are tried again: half a minute.
    static let looksBetweenTries = 15

    init(_ content: [UInt8]) {
        self.known = content
        self.last = .content(content)
    }

    /// This many SIGHUPs were followed. The file may have been another for a moment, and be now what it was at the last look.
    mutating func noteHangUps(_ count: Int) {
        guard count != self.hangUpCount else { return }
        self.hangUpCount = count
        self.known = nil
    }
    /// What it holds was taken.
    mutating func taken() { self.refusedFaults = [] }
    /// It was not.
    mutating func refused(_ faults: [ConfigurationFault]) {
        (self.refusedFaults, self.looksSinceRefused) = (faults, 0)
    }

    /// A file that has been so for two looks is taken to be so: at the first, somebody may have been writing it, or putting another in its place.
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

// A group of services names each by describing it, and this one holds the file's bytes.
extension ReloadService: Untold {}
extension FileLook: Untold {}
extension FileWatch: Untold {}
