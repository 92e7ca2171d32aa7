import CommandSupport
import Logging
import PushWorker

/// What `mailboat dev` writes of its worker's log unless it is asked for all. What becomes of events stands on the page; that a client places its records
/// wrongly, which costs them their order elsewhere, would be seen nowhere. Any thread.
struct DevLog: LogHandler {
    var logLevel = Logger.Level.warning
    var metadata: Logger.Metadata = [:]
    var metadataProvider: Logger.MetadataProvider?
    private let show: @Sendable (String) -> Void

    /// - Parameter show: writes a line, given without its end.
    init(show: @escaping @Sendable (String) -> Void = { StandardError.print($0) }) { self.show = show }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { self.metadata[key] }
        set { self.metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let remedy = event.metadata?[PlacementWarnings.placeName] == nil ? nil : event.metadata?["remedy"]
        guard event.level == .critical || remedy != nil else { return }
        self.show("\(event.level): \(event.message)" + (remedy.map { ". Remedy: \($0)" } ?? ""))
    }
}
