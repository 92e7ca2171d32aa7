import PushInspection
import PushModel
import PushWorker

/// What somebody looks at.
extension DevHouse {
    /// Something is about to be published for an activity by the page. Its publisher wants to see what becomes of it.
    func lookByTheWay(at activity: String) {
        // The key of a join is no activity.
        guard TokenText.shortened(activity) == activity else { return }
        self.store.look(at: activity, nowMillis: self.nowMillis, isByTheWay: true)
        self.follower.choose()
    }

    /// Somebody asks for an activity: all of it is listed for a while. Where nothing is known of its phone, the worker is asked for the token: its
    /// registration may have come too fast to be read, or the phone may have given way to others.
    func look(at activity: String) async {
        if self.store.look(at: activity, nowMillis: self.nowMillis) { self.lookAtPhones() }
        self.follower.choose()
        guard !activity.isEmpty, self.store.read({ $0.phone(activity: activity) == nil }) else { return }
        _ = await self.meetPhone(of: activity)
    }
}
