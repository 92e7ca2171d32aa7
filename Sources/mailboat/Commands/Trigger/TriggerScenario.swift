import ArgumentParser
import CommandSupport
import PushModel

/// A short story for `mailboat trigger`, made of events as an upstream service would publish them.
enum TriggerScenario: String, ExpressibleByArgument, CaseIterable {
    case order, start, goal, burst

    /// One record of the story.
    struct Step: Equatable {
        var record: RecordText
        /// What happens, in a few words.
        var words: String
        /// Whether the step follows the previous one without a pause.
        var isHurried = false
        /// Whether the step registers the update token of the card that the earlier start has put up. The token in its
        /// record is made up.
        var isOfReturnedToken = false
    }

    /// The activity or audience of the story, and its phones.
    struct Cast {
        /// The activity's id, or the audience's.
        var key: String
        /// Tokens in lower-case hexadecimal digits: one for an activity, one for each member of an audience. If a push
        /// starts the story, they are push-to-start tokens.
        var tokens: [String]
        /// The app; `nil`: the worker has only one.
        var app: String?
        var isDevelopment = false
        /// The clock, seconds since 1970.
        var nowSeconds: Int64
        /// Whether the story ends. Otherwise the activity or audience lives on.
        var ends = true
    }

    /// Number of updates in a burst, enough to see what coalescing does.
    static let burstCount = 20
    /// Number of phones that join an audience when no token is given.
    static let madeUpMemberCount = 3

    func steps(_ cast: Cast) -> [Step] {
        switch self {
        case .order: Self.order(cast)
        case .start: Self.start(cast)
        case .goal: Self.goal(cast)
        case .burst: Self.burst(cast)
        }
    }

    private static func order(_ cast: Cast) -> [Step] {
        let onItsWay =
            #""content-state":{"step":"on its way","driverName":"Anne","minutes":12},"priority":10,"stale-date":\#(cast.nowSeconds + 1_200)"#
        let atTheDoor =
            #""content-state":{"step":"at the door","driverName":"Anne","minutes":0},"alert":{"title":"Your pizza is here","body":"Anne is at the door.","sound":"default"}"#
        var steps = [
            cast.register(),
            cast.step("update", #""content-state":{"step":"preparing","minutes":25}"#, "preparing, priority 5"),
            cast.step("update", onItsWay, "on its way, priority 10"),
            cast.step("update", atTheDoor, "at the door, with an alert"),
        ]
        if cast.ends {
            steps.append(
                cast.step(
                    "end",
                    #""content-state":{"step":"delivered","minutes":0},"dismissal-date":\#(cast.nowSeconds + 900)"#,
                    "delivered; the card goes in 15 minutes"))
        }
        return steps
    }

    /// The story that the page Events.md tells.
    private static func start(_ cast: Cast) -> [Step] {
        let inTheOven =
            #""input-push-token":1,"attributes-type":"PizzaAttributes","attributes":{"order":\#(JSONLine.text(cast.key))},"#
            + #""content-state":{"status":"In the oven","minutes":25},"alert":{"title":"Thank you","body":"Your pizza is in the oven."}"#
        let atTheDoor =
            #""content-state":{"status":"At the door","driverName":"Anne","minutes":0},"alert":{"title":"Your pizza is here","body":"Anne is at the door.","sound":"default"}"#
        var steps = [
            cast.step("start", cast.toStartToken + inTheOven, "the card comes up, in the oven"),
            cast.registerReturned(),
            cast.step("update", atTheDoor, "at the door, with an alert"),
        ]
        if cast.ends {
            steps.append(
                cast.step(
                    "end",
                    #""content-state":{"status":"Delivered","minutes":0},"dismissal-date":\#(cast.nowSeconds + 900)"#,
                    "delivered; the card goes in 15 minutes"))
        }
        return steps
    }

    private static func goal(_ cast: Cast) -> [Step] {
        let to = #""to":{"audience":\#(JSONLine.text(cast.key))},"#
        let goal =
            #""content-state":{"home":1,"away":0,"minute":23},"priority":10,"alert":{"title":{"loc-key":"%@ scores!","loc-args":["Power Panda"]},"body":"1:0","sound":"default"}"#
        var steps = cast.tokens.map(cast.join)
        steps.append(
            cast.step("update", to + #""content-state":{"home":0,"away":0,"minute":22}"#, "0:0, priority 5"))
        steps.append(cast.step("update", to + goal, "goal, 1:0, with an alert"))
        if cast.ends {
            steps.append(
                cast.step(
                    "end",
                    to + #""content-state":{"home":1,"away":0,"minute":90},"dismissal-date":\#(cast.nowSeconds + 900)"#,
                    "full time; the cards go in 15 minutes"))
        }
        return steps
    }

    private static func burst(_ cast: Cast) -> [Step] {
        var steps = [cast.register()]
        for number in 1...Self.burstCount {
            var step = cast.step("update", #""content-state":{"count":\#(number)}"#, "count \(number)")
            step.isHurried = number > 1
            steps.append(step)
        }
        if cast.ends { steps.append(cast.step("end", #""dismissal-date":\#(cast.nowSeconds + 900)"#, "ended")) }
        return steps
    }
}

extension TriggerScenario.Cast {
    /// Fields that every event may have.
    private var common: String { self.app.map { #","app":\#(JSONLine.text($0))"# } ?? "" }
    private var environment: String { self.isDevelopment ? #","environment":"development""# : "" }

    fileprivate func register() -> TriggerScenario.Step { self.register(self.tokens.first ?? "") }

    fileprivate func register(_ token: String) -> TriggerScenario.Step {
        self.step("register", #""token":"\#(token)""# + self.environment, "token \(TokenText.shortened(token))")
    }

    /// Registers the update token, which is known once the card is visible.
    /// - Parameter token: the token; `nil`: not known yet, so a made-up one is used.
    func registerReturned(_ token: String? = nil) -> TriggerScenario.Step {
        var step = self.register(token ?? String((self.tokens.first ?? "").reversed()))
        step.isOfReturnedToken = true
        return step
    }

    fileprivate var toStartToken: String {
        #""to":{"start-token":"\#(self.tokens.first ?? "")""# + self.environment + "},"
    }

    /// Registers a member of the audience. The record's key is the member's token.
    fileprivate func join(_ token: String) -> TriggerScenario.Step {
        let value =
            #"{"event":"register","audience":\#(JSONLine.text(self.key))"# + self.environment + self.common + "}"
        return TriggerScenario.Step(
            record: RecordText(key: Array(token.utf8), value: Array(value.utf8)),
            words: "token \(TokenText.shortened(token)) joins \(TokenText.shortened(self.key))", isHurried: true)
    }

    fileprivate func step(_ event: String, _ fields: String, _ words: String) -> TriggerScenario.Step {
        TriggerScenario.Step(
            record: RecordText(
                key: Array(self.key.utf8), value: Array(#"{"event":"\#(event)",\#(fields)\#(self.common)}"#.utf8)),
            words: "\(event): \(words)")
    }
}
