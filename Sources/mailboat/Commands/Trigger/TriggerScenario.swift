import ArgumentParser
import CommandSupport
import PushModel

/// A short story for `mailboat trigger`, made of events as an upstream service would publish them.
enum TriggerScenario: String, ExpressibleByArgument, CaseIterable {
    case order, goal, burst

    /// One record of the story.
    struct Step: Equatable {
        var record: RecordText
        /// What happens, in a few words.
        var words: String
        /// It follows the one before without a pause.
        var isHurried = false
    }

    /// Whom it is about.
    struct Cast {
        /// The activity's id, or the audience's.
        var key: String
        /// In lower-case hexadecimal digits; an activity has one, an audience as many members as there are.
        var tokens: [String]
        /// `nil`: the worker has one app only.
        var app: String?
        var isDevelopment = false
        /// The clock, seconds since 1970.
        var nowSeconds: Int64
        /// The story ends; otherwise the activity, or audience, lives on.
        var ends = true
    }

    /// Updates of a burst: enough to see what coalescing does with them.
    static let burstCount = 20
    /// Phones that join an audience when no token is given.
    static let madeUpMemberCount = 3

    func steps(_ cast: Cast) -> [Step] {
        switch self {
        case .order: Self.order(cast)
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

    fileprivate func register() -> TriggerScenario.Step {
        self.step(
            "register", #""token":"\#(self.tokens.first ?? "")""# + self.environment,
            "token \(TokenText.shortened(self.tokens.first ?? ""))")
    }

    /// A member's key is its token.
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
