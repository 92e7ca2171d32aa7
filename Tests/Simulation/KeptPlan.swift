import PushEngine
import PushModel

/// What one seed makes of channels that are kept for audiences, and of the phones that listen on them.
package struct KeptPlan {
    /// Percent of worlds with audiences that keep channels, unless the caller says otherwise.
    package static let worldsPercent = 25

    /// Whether channels are kept. Worlds without them stay as they were.
    var isOn = false
    /// Percentage of actions about audiences that are an `open`, or let a phone start or stop listening on a channel.
    var sharePercent = 0
    /// Percentage of management requests whose answer is lost.
    var lostPercent = 0
    /// Percentage of management requests that are refused for now.
    var refusedPercent = 0
    /// Greatest age of Apple's list.
    var listLagMillisMax: Int64 = 0
    /// Percentage of steps in the life of a channel at which the worker dies.
    var strikePercent = 0
    /// Number of channels of others in each home at the beginning.
    var othersAtFirst = 0
    /// Number of channels of others in the first home at the beginning. That home may be nearly full.
    var othersInFirstHome = 0
    /// How often others make one more channel, in a hundred.
    var othersComePercent = 0
    /// How often somebody deletes one of our channels, or one of the others'.
    var deletionPercent = 0
    /// How often the phone that listens from the beginning goes off or returns.
    var sleepPercent = 0
    /// How often broadcasts, and only broadcasts, begin to be refused for a while.
    var outagePercent = 0
    /// How often a creation is carried out twice, and how often its answer names a channel that it has not made.
    var twicePercent = 0
    var foreignPercent = 0
    /// How often a publisher itself sends to one of our channels, beside the other events.
    var straightPercent = 0

    init() {}

    init(random: inout SplitMix64, isExclusive: Bool) {
        self.isOn = true
        self.sharePercent = [10, 30, 50].randomElement(using: &random)!
        self.lostPercent = [0, 10, 40].randomElement(using: &random)!
        self.refusedPercent = [0, 10, 40].randomElement(using: &random)!
        self.listLagMillisMax = [0, 5_000, 24_000].randomElement(using: &random)!
        self.strikePercent = [0, 3, 15].randomElement(using: &random)!
        self.othersAtFirst = [0, 2, 2, 7].randomElement(using: &random)!
        // It takes long to read such a long list, so few worlds have one.
        self.othersInFirstHome =
            Int.random(in: 0..<25, using: &random) == 0
            ? Int.random(in: 9_480...9_510, using: &random) : self.othersAtFirst
        self.othersComePercent = isExclusive ? 0 : [0, 3].randomElement(using: &random)!
        self.deletionPercent = [0, 0, 2].randomElement(using: &random)!
        self.sleepPercent = [0, 10, 40].randomElement(using: &random)!
    }
}

extension SimulationPlan {
    /// Draws outages with a generator of its own: everything else in the world stays as it was.
    mutating func drawOutages(random: inout SplitMix64) {
        guard self.kept.isOn else { return }
        self.kept.outagePercent = [0, 3, 10].randomElement(using: &random)!
        self.kept.twicePercent = [0, 0, 20].randomElement(using: &random)!
        self.kept.foreignPercent = [0, 0, 20].randomElement(using: &random)!
    }

    /// Draws direct broadcasts with a generator of its own: everything else in the world stays as it was.
    mutating func drawStraight(random: inout SplitMix64) {
        guard self.kept.isOn else { return }
        self.kept.straightPercent = [0, 5, 20].randomElement(using: &random)!
    }

    /// Draws kept channels with a generator of its own, so that worlds that keep none stay as they were.
    mutating func drawKept(worldsPercent: Int, random: inout SplitMix64) {
        guard !self.audiences.audiences.isEmpty, Int.random(in: 0..<100, using: &random) < worldsPercent else { return }
        self.app.audienceChannel = .auto
        self.app.audienceChannelStorage = Bool.random(using: &random) ? .none : .mostRecent
        self.app.channelsExclusive = Bool.random(using: &random)
        self.app.channelsWarm = [0, 0, 1, 2].randomElement(using: &random)!
        self.app.channelLingerMillis = [2, 3, 8].randomElement(using: &random)! * 3_600_000
        self.app.channelFallbackMillis = [20_000, 60_000].randomElement(using: &random)!
        if self.channels.isEmpty {
            self.app.channelMinimumDistanceMillis = [1_000, 4_000, 15_000].randomElement(using: &random)!
        }
        self.app.productionBroadcastRoute = 0
        self.app.productionManageRoute = 0
        if self.audiences.hasDevelopment {
            self.app.developmentBroadcastRoute = 1
            self.app.developmentManageRoute = 1
        }
        self.kept = KeptPlan(random: &random, isExclusive: self.app.channelsExclusive)
    }
}
