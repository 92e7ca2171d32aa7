public import DeviceModel
public import PushInspection
import Synchronization

/// The timeline behind its lock, and its followers. Usable from any thread.
///
/// Do not call the simulator while the lock is held: the simulator calls `takePush` under its own lock.
public final class TimelineStore: Sendable {
    private let timeline: Mutex<Timeline>
    /// What the apps' code expects of a `content-state`: for `SimulatorConfiguration.contentFault`.
    public let schemas = SchemaBook()
    /// The page's origin, such as `http://127.0.0.1:8484`; empty: the page is not served yet.
    let origin = Mutex("")
    /// The browsers, and the requests that wait for something.
    let followers = Followers(countMax: DevPageLimits.followersMax)
    /// The follower that belongs to the page itself.
    let keepers = Followers(countMax: 1)

    /// Creates an empty timeline.
    /// - Parameters:
    ///   - app: the bundle id of events that name no app.
    ///   - apps: the bundle ids of the events that the worker takes; empty: it takes all.
    ///   - limits: how much is kept.
    public init(app: String, apps: [String] = [], limits: Timeline.Limits = Timeline.Limits()) {
        self.timeline = Mutex(Timeline(app: app, apps: apps, limits: limits))
    }

    /// Draws cards with these templates from now on, where one fits.
    public func setTemplates(_ templates: [CardTemplate]) { self.change { $0.setTemplates(templates) } }

    /// Decodes content with this schema on the phones of an app from now on.
    /// - Parameter app: bundle id; `nil`: all apps without a schema of their own.
    public func setSchema(_ schema: GivenSchema, app: String?) {
        self.schemas.set(schema, app: app)
        self.change { $0.setSchemas(self.schemas.schemas) }
    }

    /// Removes the schema of an app.
    /// - Returns: whether there was one.
    func removeSchema(app: String?) -> Bool {
        guard self.schemas.remove(app: app) else { return false }
        self.change { $0.setSchemas(self.schemas.schemas) }
        return true
    }

    /// Whether a push is worth a copy: for `SimulatorConfiguration.wantsPush`.
    public func wantsPush(_ glimpse: PushGlimpse, token: Span<UInt8>, body: Span<UInt8>) -> Bool {
        let (isWanted, isNew) = self.timeline.withLock { timeline in
            let before = timeline.revision
            let isWanted = timeline.wantsPush(glimpse, token: token, body: body)
            return (isWanted, timeline.revision != before)
        }
        if isNew { self.wakeAll() }
        return isWanted
    }

    /// Takes a wanted push that reached the simulated APNs: for `SimulatorConfiguration.onPush`.
    public func takePush(_ push: ObservedPush) { self.change { _ = $0.listPush(push) } }

    /// Takes a broadcast that reached the simulated APNs: for `SimulatorConfiguration.onBroadcast`.
    public func takeBroadcast(_ broadcast: ObservedBroadcast) { self.change { $0.takeBroadcast(broadcast) } }

    /// The page on which a person can look at a push: for `SimulatorConfiguration.pageOfPush`. `nil`: the page is not
    /// served yet.
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
        if isNew { self.wakeAll() }
        return result
    }

    /// Whether a record of the events topic is worth a copy.
    func wantsEvent(key: Span<UInt8>, nowMillis: Int64) -> Bool {
        self.timeline.withLock { $0.wantsEvent(key: key, nowMillis: nowMillis) }
    }

    /// Whether a record of the outcomes topic is worth a copy.
    func wantsOutcome(key: Span<UInt8>) -> Bool { self.timeline.withLock { $0.wantsOutcome(key: key) } }

    /// Remembers that somebody looks at an activity. All its entries are then listed for a while, whatever else
    /// arrives.
    /// - Parameter isByTheWay: whether the look gives way to looks of others.
    /// - Returns: whether its phone had been forgotten and is known again. The caller must then look at what it shows.
    @discardableResult
    func look(at activity: String, nowMillis: Int64, isByTheWay: Bool = false) -> Bool {
        self.change { timeline in
            let before = timeline.revision
            timeline.look(at: activity, nowMillis: nowMillis, isByTheWay: isByTheWay)
            return timeline.revision != before
        }
    }

    private func wakeAll() {
        self.followers.wakeAll()
        self.keepers.wakeAll()
    }

    func end() {
        self.followers.end()
        self.keepers.end()
    }
}
