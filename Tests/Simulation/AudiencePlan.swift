import PushEngine
import PushModel

/// Everything that a seed decides about audiences: how many there are, who their members are, and what share of events
/// concerns them.
package struct AudiencePlan {
    /// Default percentage of worlds that have audiences.
    package static let worldsPercent = 10
    /// Default percentage of worlds with audiences that also have start members.
    package static let startsPercent = 40
    /// How long a start member stays if it does not join again. Events are written for a shorter time, so that no start
    /// member is forgotten meanwhile.
    static let starterLifeMillis: Int64 = 30 * 3_600_000
    /// Bundle id of the second app in worlds with two apps. Activities belong to the first app.
    static let secondBundleID = "com.example.football"

    /// One audience and its members at the beginning.
    struct Audience {
        /// Index into `SimulationPlan.apps`.
        var app: UInt16
        var memberCount: Int
        /// Whether all members join before the audience has a version. Otherwise they join at any time.
        var joinsFirst: Bool
    }
    var audiences: [Audience] = []
    var hasTwoApps = false
    /// Whether the second app has the setting `alert.on-unknown: drop`. No activity belongs to that app.
    var dropsUnknownAlerts = false
    /// Chance, in percent, that a push of the second app with an alert loses its answer. Other faults may lose answers
    /// too.
    var lostAlertPercent = 0
    /// Whether some members belong to the development environment.
    var hasDevelopment = false
    /// Whether the setting `placement` is `trust`. A worker then takes a record even if its key belongs to another
    /// partition.
    var trustsPlacement = false
    /// Percentage of the upstream service's actions that concern audiences.
    var sharePercent = 0
    /// Percentage of actions about audiences in which a member joins, leaves or moves.
    var movementPercent = 0
    /// Chance, in percent, that a member's token dies, in place of a join, leave or move of the member.
    var deathPercent = 0
    /// Percentage of tokens whose phone has frequent updates.
    var frequentPercent = 0
    /// Whether ended audiences are forgotten soon, and later get events again.
    var livesAgain = false
    /// Chance, in percent, that a push to a member makes its worker die soon, in the middle of a pass.
    var strikePercent = 0
    /// The setting `budget.audience-per-hour`.
    var perHour = 15
    /// The setting `budget.audience-frequent-per-hour`.
    var frequentPerHour = 120
    /// Number of phones with a push-to-start token.
    var starterCount = 0
    /// Number of further phones with a push-to-start token, which join together with the first phones. A partition
    /// usually has too many of them for one record to announce a start to all.
    var starterCrowdCount = 0
    /// Percentage of actions about audiences that concern start members.
    var startSharePercent = 0
    /// The setting `start.per-hour`.
    var startsPerHour = 4
    /// Chance, in percent, that an operator pauses an audience, or all audiences of an app, after an event. The
    /// operator resumes them later.
    var pausePercent = 0

    init() {}

    init(random: inout SplitMix64) {
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let members = [0...0, 1...1, 1...8, 8...25, 20...60].randomElement(using: &random)!
            self.audiences.append(
                Audience(
                    app: 0, memberCount: Int.random(in: members, using: &random),
                    joinsFirst: Bool.random(using: &random)))
        }
        self.hasTwoApps = Int.random(in: 0..<3, using: &random) == 0
        if self.hasTwoApps {
            for index in self.audiences.indices { self.audiences[index].app = UInt16.random(in: 0...1, using: &random) }
        }
        self.hasDevelopment = Int.random(in: 0..<4, using: &random) == 0
        self.trustsPlacement = Int.random(in: 0..<5, using: &random) == 0
        self.sharePercent = [30, 60, 90].randomElement(using: &random)!
        self.movementPercent = [0, 20, 60].randomElement(using: &random)!
        self.deathPercent = [0, 0, 10].randomElement(using: &random)!
        self.frequentPercent = [0, 30, 100].randomElement(using: &random)!
        self.livesAgain = Int.random(in: 0..<3, using: &random) == 0
        self.strikePercent = [0, 0, 1, 4].randomElement(using: &random)!
        self.perHour = Int.random(in: 2...15, using: &random)
        self.frequentPerHour = self.perHour + Int.random(in: 0...20, using: &random)
    }
}

extension SimulationPlan {
    /// Draws the plan of audiences with a separate generator, so that worlds without audiences do not change.
    mutating func drawAudiences(worldsPercent: Int, random: inout SplitMix64) {
        guard Int.random(in: 0..<100, using: &random) < worldsPercent, !self.livesAreShort else { return }
        self.audiences = AudiencePlan(random: &random)
        self.partitions = max(self.partitions, [1, 1, 4, 8].randomElement(using: &random)!)
        // The judge could not tell what a phone shows if APNs had permanently refused a message to it.
        self.refusedMessagePercent = 0
        // An event for a dead token must have an outcome. So tokens die only if all outcomes are published.
        if !self.publishesAll { self.audiences.deathPercent = 0 }
        if self.audiences.livesAgain {
            self.app.retentionAfterEndMillis = [600_000, 1_200_000].randomElement(using: &random)!
            // A member that is forgotten within an hour and joins again gets a new budget. So the budgets of this world
            // are too large to matter.
            self.audiences.perHour = 1_000
            self.audiences.frequentPerHour = 1_000
            self.app.budgetPerHour = 1_000
            self.app.budgetFrequentPerHour = 1_000
            if self.app.channelBudgetPerHour > 0 { self.app.channelBudgetPerHour = 1_000 }
        }
        self.app.budgetAudiencePerHour = self.audiences.perHour
        self.app.budgetAudienceFrequentPerHour = self.audiences.frequentPerHour
        if self.audiences.hasDevelopment { self.app.developmentRoute = 1 }
    }

    /// Draws start members with a separate generator, so that worlds without them do not change.
    mutating func drawStarts(worldsPercent: Int, random: inout SplitMix64) {
        guard !self.audiences.audiences.isEmpty, Int.random(in: 0..<100, using: &random) < worldsPercent else { return }
        self.audiences.starterCount = [1, 6, 20, 60].randomElement(using: &random)!
        self.audiences.startSharePercent = [20, 50].randomElement(using: &random)!
        self.audiences.startsPerHour = Int.random(in: 1...4, using: &random)
        self.app.startsPerHour = self.audiences.startsPerHour
        self.app.startMemberLifeMillis = AudiencePlan.starterLifeMillis
        self.app.audienceSpreadMillis = [0, 0, 5_000, 60_000].randomElement(using: &random)!
    }

    /// Draws additional start members with a separate generator, so that worlds with smaller audiences do not change.
    /// Only worlds with few partitions get them, because many partitions would divide them into small crowds.
    mutating func drawStarterCrowd(random: inout SplitMix64) {
        guard self.audiences.starterCount > 0, self.partitions <= 2, Int.random(in: 0..<4, using: &random) == 0 else {
            return
        }
        self.audiences.starterCrowdCount = [400, 700].randomElement(using: &random)!
    }

    /// Draws pauses with a separate generator, so that worlds without them do not change.
    mutating func drawPauses(random: inout SplitMix64) {
        guard !self.audiences.audiences.isEmpty, Int.random(in: 0..<3, using: &random) == 0 else { return }
        self.audiences.pausePercent = [3, 10, 40].randomElement(using: &random)!
    }

    /// Draws whether the second app has `alert.on-unknown: drop`, with a separate generator, so that the rest of the
    /// world does not change. Worlds with kept channels do not have this setting, because a listening phone may hear an
    /// alert over the channel too.
    mutating func drawUnknownAlerts(seed: UInt64) {
        var random = SplitMix64(seed: seed ^ 0xD209_D209_D209_D209)
        self.audiences.dropsUnknownAlerts =
            self.audiences.hasTwoApps && !self.kept.isOn && Bool.random(using: &random)
        guard self.audiences.dropsUnknownAlerts else { return }
        self.audiences.lostAlertPercent = [0, 20, 60].randomElement(using: &random)!
    }

    /// All configured apps.
    var apps: [AppConfiguration] {
        guard self.audiences.hasTwoApps else { return [self.app] }
        var second = self.app
        second.bundleID = AudiencePlan.secondBundleID
        if self.audiences.dropsUnknownAlerts { second.alertOnUnknown = .drop }
        return [self.app, second]
    }

    var placement: EngineSettings.Placement { self.audiences.trustsPlacement ? .trust : .check }
    var routeCount: UInt16 { self.audiences.hasDevelopment ? 2 : 1 }
}
