import PushEngine

/// Questions from code in this process, such as the page of `mailboat dev`. They do not pass through the admin port, so
/// `AdminAccess` does not apply.
extension StatePages {
    /// What this worker knows about an activity.
    /// - Parameter app: bundle id; `nil`: the only app that has it.
    /// - Returns: `nil` when nothing is known, the shard does not answer, or several apps have it.
    func activityPage(id text: String, app: String?) async -> ActivityPage? {
        do throws(Fault) {
            let pages = try await self.activityPages(self.asked(text, app: app))
            return pages.count == 1 ? pages[0] : nil
        } catch { return nil }
    }

    /// The app of an activity, and the token that its pushes go to, which is a secret. `app` and `nil` have the same
    /// meaning as for `activityPage`.
    func activityToken(id text: String, app: String?) async -> (token: [UInt8], app: String)? {
        do throws(Fault) {
            let asked = try self.asked(text, app: app)
            let found = try await self.ask(asked, everywhere: false) {
                engine, app, _ -> [(token: [UInt8], app: String)] in
                guard let token = engine.activityToken(app: app, id: asked.id.span) else { return [] }
                return [(token: token, app: engine.configuration.apps[Int(app)].bundleID)]
            }.flatMap { $0 }
            return found.count == 1 ? found[0] : nil
        } catch { return nil }
    }

    /// What the owner of an audience knows about it. `app` and `nil` have the same meaning as for `activityPage`.
    func audienceReport(id text: String, app: String?) async -> AudienceReport? {
        do throws(Fault) {
            let asked = try self.asked(text, app: app)
            let found = try await self.ask(asked, everywhere: false) { engine, app, now in
                engine.audienceReport(app: app, id: asked.id.span, now: now).map { [$0] } ?? []
            }.flatMap { $0 }
            return found.count == 1 ? found[0] : nil
        } catch { return nil }
    }
}
