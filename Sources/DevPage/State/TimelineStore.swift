public import DeviceModel
package import PushInspection
import Synchronization

/// The timeline behind its lock, and those who follow it. May be used from any thread.
///
/// Nothing is asked of the simulator while the lock is held: the simulator calls `takePush` under its own.
public final class TimelineStore: Sendable {
    private let timeline: Mutex<Timeline>
    /// The browsers, and whoever waits for something.
    let followers = Followers(countMax: DevPageLimits.followersMax)
    /// The page itself.
    let keepers = Followers(countMax: 1)

    /// - Parameter app: the bundle id of events that name none.
    public init(app: String) { self.timeline = Mutex(Timeline(app: app)) }

    /// A push reached the simulated APNs: for `SimulatorConfiguration.onPush`.
    public func takePush(_ push: ObservedPush) { self.change { _ = $0.takePush(push) } }

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
