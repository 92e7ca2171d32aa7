import CommandSupport
import Logging
import PushWorker

/// Writes two kinds of lines of a worker's log: critical ones, and warnings that a client puts records on wrong
/// partitions. On a real Kafka, misplaced records lose their order. Other lines are dropped, because the page shows
/// what becomes of events. May be used on any thread.
struct DevLog: LogHandler {
    var logLevel = Logger.Level.warning
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let show: @Sendable (String) -> Void

    /// Creates a handler.
    /// - Parameter show: writes a line. It gets the line without a line end.
    init(show: @escaping @Sendable (String) -> Void = { StandardError.print($0) }) { self.show = show }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let remedy = event.metadata?[PlacementWarnings.partitionName] == nil ? nil : event.metadata?["remedy"]
        guard event.level == .critical || remedy != nil else { return }
        self.show("\(event.level): \(event.message)" + (remedy.map { ". Remedy: \($0)" } ?? ""))
    }
}
