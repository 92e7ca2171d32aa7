import PushEngine
import PushModel

/// What one seed makes of channels that are kept for audiences, and of the phones that listen on them.
package struct KeptPlan {
    /// Worlds with audiences that keep channels, in a hundred, unless the caller says otherwise.
    package static let worldsPercent = 25

    /// Worlds without are as they were.
    var isOn = false
    /// Share of what is written about audiences that is a phone which begins or stops to listen on a channel, or an `open`.
    var sharePercent = 0
    /// Share of management requests whose answer is lost, and of those that are refused for now, in a hundred.
    var lostPercent = 0
    var refusedPercent = 0
    /// How old Apple's list may be.
    var listLagMillisMax: Int64 = 0
    /// How often a step in the life of a channel has its worker die over it.
    var strikePercent = 0
    /// Channels that others have made in each home, and how often they make another. In the first home there may be nearly as many as an app may
    /// have.
    var othersAtFirst = 0
    var othersInFirstHome = 0
    var othersComePercent = 0
    /// How often somebody deletes one of ours, or one of theirs.
    var deletionPercent = 0
    /// How often the phone that listens from the first on goes off, or comes back.
    var sleepPercent = 0
    /// How often broadcasts, and they alone, begin to be refused for a while.
    var outagePercent = 0
    /// How often a creation is carried out twice, and how often it is answered with an id that it has not made.
    var twicePercent = 0
    var foreignPercent = 0
    /// How often, beside what else is written, a publisher sends to one of ours itself.
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
        // A list of that many takes long to read, so few worlds have it.
        self.othersInFirstHome =
            Int.random(in: 0..<25, using: &random) == 0
            ? Int.random(in: 9_480...9_510, using: &random) : self.othersAtFirst
        self.othersComePercent = isExclusive ? 0 : [0, 3].randomElement(using: &random)!
        self.deletionPercent = [0, 0, 2].randomElement(using: &random)!
        self.sleepPercent = [0, 10, 40].randomElement(using: &random)!
    }
}

extension SimulationPlan {
    /// Drawn apart: what else goes on in the world is as it was.
    mutating func drawOutages(random: inout SplitMix64) {
        guard self.kept.isOn else { return }
        self.kept.outagePercent = [0, 3, 10].randomElement(using: &random)!
        self.kept.twicePercent = [0, 0, 20].randomElement(using: &random)!
        self.kept.foreignPercent = [0, 0, 20].randomElement(using: &random)!
    }

    /// Drawn apart: what else goes on in the world is as it was.
    mutating func drawStraight(random: inout SplitMix64) {
        guard self.kept.isOn else { return }
        self.kept.straightPercent = [0, 5, 20].randomElement(using: &random)!
    }

    /// A world that keeps no channels is as it was: what concerns them is drawn apart.
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
