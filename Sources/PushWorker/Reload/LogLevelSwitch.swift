public import Logging
import Synchronization

/// A log level that may be changed while loggers exist. May be used from any thread.
public final class LogLevelSwitch: Sendable {
    private let index: Atomic<Int>

    /// A switch at this level. Lines below the level are not written.
    public init(_ level: Logger.Level) { self.index = Atomic(Self.index(level)) }

    /// The lowest level that is written. It applies to every logger of this switch that has no level of its own.
    public var level: Logger.Level {
        get { Logger.Level.allCases[self.index.load(ordering: .relaxed)] }
        set { self.index.store(Self.index(newValue), ordering: .relaxed) }
    }

    /// A logger that follows the switch.
    /// - Parameter handler: makes the handler that writes its lines.
    public func logger(label: String, _ handler: (String) -> any LogHandler) -> Logger {
        Logger(label: label) { SwitchedLogHandler(base: handler($0), follows: self) }
    }

    private static func index(_ level: Logger.Level) -> Int { Logger.Level.allCases.firstIndex(of: level) ?? 0 }
}

/// Writes the lines that the switch lets through, or the level set for this logger alone.
private struct SwitchedLogHandler: LogHandler {
    private var base: any LogHandler
    private let shared: LogLevelSwitch
    private var own: Logger.Level?

    init(base: any LogHandler, follows shared: LogLevelSwitch) {
        self.base = base
        self.base.logLevel = .trace
        self.shared = shared
    }

    var logLevel: Logger.Level {
        get { self.own ?? self.shared.level }
        set { self.own = newValue }
    }
    var metadata: Logger.Metadata {
        get { self.base.metadata }
        set { self.base.metadata = newValue }
    }
    var metadataProvider: Logger.MetadataProvider? {
        get { self.base.metadataProvider }
        set { self.base.metadataProvider = newValue }
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.base[metadataKey: key] }
        set { self.base[metadataKey: key] = newValue }
    }

    func log(event: LogEvent) { self.base.log(event: event) }
}
