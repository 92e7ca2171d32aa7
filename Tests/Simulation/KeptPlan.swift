import PushEngine
import PushModel

/// Everything that a seed decides about channels that are kept for audiences, and about the phones that listen on them.
package struct KeptPlan {
    /// Default percentage of worlds with audiences that keep channels.
    package static let worldsPercent = 25

    /// Whether workers keep channels for audiences.
    var isOn = false
    /// Percentage of actions about audiences that write an `open`, or concern a phone that listens on a channel or
    /// could. It is also the chance that a phone begins to listen just after a broadcast.
    var sharePercent = 0
    /// Percentage of requests to Apple about kept channels, broadcasts included, that get no answer. The request or the
    /// answer is lost.
    var lostPercent = 0
    /// Percentage of requests to Apple about kept channels, broadcasts included, that are refused temporarily.
    var refusedPercent = 0
    /// Greatest age, in milliseconds, of the list of channels that Apple returns.
    var listLagMillisMax: Int64 = 0
    /// Percentage of steps in a channel's life (such as its creation) at which the worker dies.
    var strikePercent = 0
    /// Number of channels that somebody other than a worker has made in each home at the beginning, except in the first
    /// home.
    var othersAtFirst = 0
    /// Number of channels that somebody other than a worker has made in the first home at the beginning. It may be near
    /// the number at which workers stop making more.
    var othersInFirstHome = 0
    /// Percentage of steps at which somebody other than a worker makes one more channel.
    var othersComePercent = 0
    /// Percentage of steps at which somebody deletes a channel that a worker has made.
    var deletionPercent = 0
    /// Chance, in percent, that a step switches the sleeper of a channel (`KeptSleeper`) off or on.
    var sleepPercent = 0
    /// Percentage of steps at which APNs begins to refuse broadcasts for a while. It accepts other pushes.
    var outagePercent = 0
    /// Percentage of creation requests that Apple carries out twice.
    var twicePercent = 0
    /// Percentage of creation requests that Apple answers with a wrong id.
    var foreignPercent = 0
    /// Percentage of steps at which a publisher itself sends an event to a kept channel.
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
        // A worker needs a long time to read a list of thousands of channels, so few worlds have such a list.
        self.othersInFirstHome =
            Int.random(in: 0..<25, using: &random) == 0
            ? Int.random(in: 9_480...9_510, using: &random) : self.othersAtFirst
        self.othersComePercent = isExclusive ? 0 : [0, 3].randomElement(using: &random)!
        self.deletionPercent = [0, 0, 2].randomElement(using: &random)!
        self.sleepPercent = [0, 10, 40].randomElement(using: &random)!
    }
}

extension SimulationPlan {
    /// Draws outages and wrong answers with a separate generator, so that the rest of the world does not change.
    mutating func drawOutages(random: inout SplitMix64) {
        guard self.kept.isOn else { return }
        self.kept.outagePercent = [0, 3, 10].randomElement(using: &random)!
        self.kept.twicePercent = [0, 0, 20].randomElement(using: &random)!
        self.kept.foreignPercent = [0, 0, 20].randomElement(using: &random)!
    }

    /// Draws events that publishers send directly to kept channels. A separate generator keeps the rest of the world
    /// unchanged.
    mutating func drawStraight(random: inout SplitMix64) {
        guard self.kept.isOn else { return }
        self.kept.straightPercent = [0, 5, 20].randomElement(using: &random)!
    }

    /// Draws kept channels with a separate generator, so that worlds without them do not change.
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
