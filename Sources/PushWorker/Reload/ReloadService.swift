public import ServiceLifecycle

/// Reads a worker's configuration again at SIGHUP and, with `reload.watch`, when its file has changed. A SIGHUP that comes while the worker starts is
/// followed when it runs.
public struct ReloadService: Service {
    /// The time between two looks at the file.
    static let lookInterval: Duration = .seconds(2)

    private let worker: WorkerService
    private let loaded: [UInt8]?
    private let content: @Sendable () -> [UInt8]?
    private let load: @Sendable () throws(ConfigurationError) -> WorkerConfiguration
    private let hangUps: HangUps

    /// - Parameters:
    ///   - loaded: the file's bytes that the worker's configuration was made of: what differs from them is a change, also one of before `run`;
    ///     `nil`: there is no file.
    ///   - hangUps: begun before the file was read for the first time.
    ///   - content: the file's bytes now; `nil`: it cannot be read.
    ///   - load: what the file and the environment say now.
    public init(
        _ worker: WorkerService, loaded: [UInt8]?, hangUps: HangUps, content: @escaping @Sendable () -> [UInt8]?,
        load: @escaping @Sendable () throws(ConfigurationError) -> WorkerConfiguration
    ) {
        self.hangUps = hangUps
        self.worker = worker
        self.loaded = loaded
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
            _ = try? await self.worker.reload(self.load)
        }
    }

    private func followFile() async {
        var watch = FileWatch(self.loaded)
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.lookInterval)
            await self.look(&watch)
        }
    }

    /// One look at the file, and what follows from it.
    func look(_ watch: inout FileWatch) async {
        // A worker that starts could not take a change: it is seen when the worker runs.
        guard let watchesFile = self.worker.watchesFile else { return }
        // What was changed while nobody watched is no change when somebody does.
        guard watch.looked(at: self.content()), watchesFile else { return }
        _ = try? await self.worker.reload(self.load)
    }
}

/// When a file that is looked at now and then has changed and is whole again. Pure.
struct FileWatch {
    /// As it was when it was last whole; `nil`: it could not be read.
    private var known: [UInt8]?
    /// As it was at the last look.
    private var last: [UInt8]?

    init(_ content: [UInt8]?) {
        self.known = content
        self.last = content
    }

    /// - Parameter content: `nil`: it cannot be read now, as while another takes its place.
    /// - Returns: whether it is another than before and has been so for two looks: somebody may have been writing it at the first.
    mutating func looked(at content: [UInt8]?) -> Bool {
        defer { self.last = content }
        guard let content, content == self.last, content != self.known else { return false }
        self.known = content
        return true
    }
}
