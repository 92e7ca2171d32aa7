import PushEngine
import PushModel

/// What one seed makes of channels that are kept for audiences, and of the phones that listen on them.
package struct KeptPlan {
    /// Percent of worlds with audiences that keep channels, unless the caller says otherwise.
    package static let worldsPercent = 25

    /// Whether channels are kept. Worlds without them stay as they were.
    var isOn = false
    /// Share of what is written about audiences that is an `open`, or a phone that begins or stops to listen on a
    /// channel.
    var sharePercent = 0
    /// Share of management requests whose answer is lost, and of those that are refused for now, in a hundred.
    var lostPercent = 0
    var refusedPercent = 0
    /// Greatest age of Apple's list.
    var listLagMillisMax: Int64 = 0
    /// How often a worker dies over a step in the life of a channel.
    var strikePercent = 0
    /// Number of channels that others have made in each home, and how often they make another. The first home may have
    /// nearly as many as an app may have.
    var othersAtFirst = 0
    var othersInFirstHome = 0
    var othersComePercent = 0
    /// How often somebody deletes one of our channels, or one of the others'.
    var deletionPercent = 0
    /// How often the phone that listens from the beginning goes off or returns.
    var sleepPercent = 0
    /// How often broadcasts, and only broadcasts, begin to be refused for a while.
    var outagePercent = 0
    /// How often a creation is carried out twice, and how often its answer has an id that it has not made.
    var twicePercent = 0
    var foreignPercent = 0
    /// How often a publisher itself sends to one of our channels, in addition to what else is written.
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
        // Reading such a long list takes long, so few worlds have it.
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
