import PushModel

/// What is configured for an audience's app, by which its owner decides.
struct OwnerRules {
    var app: AppConfiguration
    /// `EngineSettings.channelMinuteMillis`.
    var minuteMillis: Int64

    func millis(ofMinutes minutes: Int64) -> Int64 { minutes * self.minuteMillis }
    /// Units that the version leaves to others.
    func reserve(for version: borrowing Version) -> Int {
        version.hasAlert || version.isEnd ? 0 : self.app.budgetReserve
    }
}
