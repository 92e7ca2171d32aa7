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
            let wait = self.eventWait(await self.wait(of: one))
            self.store.change { $0.setWait(wait, of: one.entries) }
        }
        for phone in self.store.read({ $0.phonesOfForgottenWaits }) { await self.askWhatWaits(for: phone) }
    }

    /// Asks what the phone's activity waits for, when the timeline no longer has the line of the waiting event.
    func askWhatWaits(for phone: SimulatedPhone) async {
        let app = phone.app.isEmpty ? nil : phone.app
        let wait = self.eventWait(await self.worker.activityWait(key: phone.activity, app: app))
        self.store.change { $0.setWait(wait, ofPhone: phone.id) }
    }

    private func eventWait(_ wait: ActivityWait?) -> EventWait? {
        let nowMillis = self.nowMillis
        return wait.map {
            EventWait(
                cause: $0.cause.rawValue, text: $0.text, untilMillis: $0.endsInMillis.map { nowMillis + $0 },
                isGivenUpThen: $0.isGivenUpThen)
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
