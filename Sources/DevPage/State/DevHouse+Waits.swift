import PushEngine
import PushInspection
import PushWorker

/// Asks the worker what events without an outcome wait for.
extension DevHouse {
    /// Asks about events that have waited for a moment.
    /// - Parameter ageMillisMin: an event younger than this is still on its way.
    func askWhatWaits(ageMillisMin: Int64 = DevPageLimits.waitUnaskedMillis) async {
        let before = self.nowMillis - ageMillisMin
        let waiting = self.store.read {
            $0.waiting(countMax: DevPageLimits.waitsAskedMax, beforeMillis: before)
        }
        for one in waiting {
            let wait = await self.wait(of: one)
            let nowMillis = self.nowMillis
            self.store.change { timeline in
                timeline.setWait(
                    wait.map {
                        EventWait(
                            cause: $0.cause.rawValue, text: $0.text,
                            untilMillis: $0.endsInMillis.map { nowMillis + $0 },
                            isGivenUpThen: $0.isGivenUpThen)
                    }, of: one.entries)
            }
        }
    }

    private func wait(of waiting: Timeline.Waiting) async -> ActivityWait? {
        if let wait = self.worker.snapshot().waitForWorker(partition: waiting.partition) { return wait }
        let app = waiting.app.isEmpty ? nil : waiting.app
        guard waiting.isForAudience else { return await self.worker.activityWait(key: waiting.key, app: app) }
        guard let report = await self.worker.audienceReport(id: waiting.key, app: app) else { return nil }
        return ActivityWait(report)
    }
}
