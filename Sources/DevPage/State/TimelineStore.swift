public import DeviceModel
public import PushInspection
import Synchronization

/// The timeline behind its lock, and those who follow it. May be used from any thread.
///
/// Nothing is asked of the simulator while the lock is held: the simulator calls `takePush` under its own.
public final class TimelineStore: Sendable {
    private let timeline: Mutex<Timeline>
    /// Such as `http://127.0.0.1:8484`; empty: the page is not served yet.
    let origin = Mutex("")
    /// The browsers, and whoever waits for something.
    let followers = Followers(countMax: DevPageLimits.followersMax)
    /// The page itself.
    let keepers = Followers(countMax: 1)

    /// - Parameter app: the bundle id of events that name none.
    public init(app: String) { self.timeline = Mutex(Timeline(app: app)) }

    /// Cards are drawn by these from now on, where one fits.
    public func setTemplates(_ templates: [CardTemplate]) { self.change { $0.setTemplates(templates) } }

    /// A push reached the simulated APNs: for `SimulatorConfiguration.onPush`.
    public func takePush(_ push: ObservedPush) { self.change { _ = $0.takePush(push) } }

    /// A broadcast reached the simulated APNs: for `SimulatorConfiguration.onBroadcast`.
    public func takeBroadcast(_ broadcast: ObservedBroadcast) { self.change { $0.takeBroadcast(broadcast) } }

    /// Where a person can look at a push: for `SimulatorConfiguration.pageOfPush`. `nil`: the page is not served yet.
    public func page(ofPush messageID: String) -> String? {
        let origin = self.origin.withLock { $0 }
        return origin.isEmpty ? nil : "\(origin)/#search=push:\(messageID)"
    }

    package func read<Result: Sendable>(_ body: (Timeline) -> Result) -> Result { self.timeline.withLock { body($0) } }

    @discardableResult
    func change<Result: Sendable>(_ body: (inout Timeline) -> Result) -> Result {
        let (result, isNew) = self.timeline.withLock { timeline in
            let before = timeline.revision
            let result = body(&timeline)
            return (result, timeline.revision != before)
        }
        if isNew {
            self.followers.wakeAll()
            self.keepers.wakeAll()
        }
        return result
    }

    func end() {
        self.followers.end()
        self.keepers.end()
    }
}
