import PushModel

/// What is configured for an audience's app and matters to the audience's owner.
struct OwnerRules {
    var app: AppConfiguration
    /// Length of a minute for channels: see `EngineSettings.channelMinuteMillis`.
    var minuteMillis: Int64

    func millis(ofMinutes minutes: Int64) -> Int64 { minutes * self.minuteMillis }
    /// Number of budget units that the version must leave for alerts and ends.
    func reserve(for version: borrowing Version) -> Int {
        version.hasAlert || version.isEnd ? 0 : self.app.budgetReserve
    }
}
