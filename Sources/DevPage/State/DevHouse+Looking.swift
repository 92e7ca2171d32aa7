import PushInspection
import PushModel
import PushWorker

/// Remembers which activities somebody looks at.
extension DevHouse {
    /// Remembers that the page is about to publish for an activity. Its publisher wants to see the result.
    func lookByTheWay(at activity: String) {
        // The key of a join is not an activity.
        guard TokenText.shortened(activity) == activity else { return }
        self.store.look(at: activity, nowMillis: self.nowMillis, isByTheWay: true)
        self.follower.choose()
    }

    /// Remembers that somebody asks for an activity. All its entries are then listed for a while. If its phone is
    /// unknown, asks the worker for the token. The registration may not have been read in a flood, or the phone may
    /// have given way to others.
    func look(at activity: String) async {
        if self.store.look(at: activity, nowMillis: self.nowMillis) { self.lookAtPhones() }
        self.follower.choose()
        guard !activity.isEmpty else { return }
        if self.store.read({ $0.phone(activity: activity) == nil }) { _ = await self.meetPhone(of: activity) }
        // A phone that had given way may wait for an event whose line is gone.
        guard let phone = self.store.read({ $0.phone(activity: activity) }), phone.wasForgotten, phone.wait == nil
        else {
            return
        }
        await self.askWhatWaits(for: phone)
    }
}
