import Logging
import PushInspection
import PushModel
import PushWorker
import Synchronization

/// Handles events for activities that have no phone.
extension DevHouse {
    /// Does what an event needs, unless the worker knows a phone that the page has not read about.
    func heed(_ need: Timeline.Need) async {
        switch need {
        case .phone(let activity, let app): await self.heedNeed(activity: activity, app: app)
        case .phoneUnlessRegistered(let activity, let app):
            let isAsked = self.needsAsked.withLock { count in
                guard count < DevPageLimits.needsAskedMax else { return false }
                count += 1
                return true
            }
            defer { if isAsked { self.needsAsked.withLock { $0 -= 1 } } }
            guard isAsked, let isRegistered = await self.isRegistered(activity, app: app) else {
                self.store.change { $0.forgetNeed(activity: activity) }
                return
            }
            if !isRegistered { await self.heedNeed(activity: activity, app: app) }
        }
    }

    /// Asks the worker until it has read the event. It then knows the token or waits for one. A phone that it knows
    /// becomes known here, too.
    /// - Returns: whether the worker knows a token; `nil`: it has not answered in time.
    private func isRegistered(_ activity: String, app: String) async -> Bool? {
        let asked = app.isEmpty ? nil : app
        for _ in 0..<DevPageLimits.needAsksMax {
            if await self.meetPhone(of: activity, app: asked) { return true }
            if await self.worker.activityWait(key: activity, app: asked)?.cause == .token { return false }
            do { try await Task.sleep(for: .milliseconds(DevPageLimits.needAskDistanceMillis)) } catch { return nil }
        }
        return nil
    }

    /// Adds the phone to which the worker pushes for an activity, unless the page has it already.
    /// - Returns: whether the worker knows one.
    func meetPhone(of activity: String, app: String? = nil) async -> Bool {
        guard let found = await self.worker.activityToken(key: activity, app: app) else { return false }
        var digits: [UInt8] = []
        Hex.append(found.token.span, to: &digits)
        let token = String(decoding: digits, as: UTF8.self)
        self.store.change { _ = $0.meet(token: token, activity: activity, app: found.app) }
        self.lookAtPhones()
        return true
    }

    /// Handles an event for an activity for which nobody has registered a phone.
    private func heedNeed(activity: String, app: String) async {
        let shownActivity = TokenText.shortened(activity)
        guard self.settings.makesPhones else {
            let nowMillis = self.nowMillis
            self.store.change {
                $0.addNote(
                    "Nobody has registered a phone for “\(shownActivity)”. Publish, with the same key: "
                        + "{\"event\": \"register\", \"token\": \"…\"}", phone: 0, nowMillis: nowMillis)
            }
            return
        }
        do {
            try await self.makePhone(activity: activity, app: app)
        } catch {
            self.logger.warning(
                "no phone was registered", metadata: ["activity": "\(shownActivity)", "cause": "\(error)"])
        }
    }
}
