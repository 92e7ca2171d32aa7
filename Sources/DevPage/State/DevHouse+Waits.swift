import PushEngine
import PushInspection
import PushWorker

/// What events without an outcome wait for: the worker is asked.
extension DevHouse {
    /// Asks about what has waited for a moment.
    /// - Parameter ageMillisMin: what came less long ago is on its way.
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
