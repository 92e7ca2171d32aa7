import Upstream

extension Script {
    /// The audience of the match.
    static let match = "final"
    /// While the goal that is taken back goes round, APNs takes its time: otherwise it would have reached everybody at once.
    static let slowAnswerMillis = 250

    /// A football match that many fans follow: they are members of one audience, and each event is one record. Their apps have started the
    /// activity, as an audience starts none yet.
    mutating func addFootballMatch(fanCount: Int) {
        for _ in 0..<fanCount { self.addFan(at: -1_000) }
        self.addMoment(
            "Football: kick-off, \(fanCount) fans follow; each event is one record", at: 1_000,
            self.score(0, 0, minute: 1))
        self.addMoment("Football: goal, 1:0", at: 4_500, self.goal(1, 0, minute: 23, by: "Power Panda"))
        self.addMoment("Football: 45th minute, nobody is woken", at: 7_000, self.score(1, 0, minute: 45))
        let lateCount = max(1, fanCount / 20)
        self.add(at: 8_000, .say("Football: \(lateCount) fans come late and are shown the score quietly"))
        for _ in 0..<lateCount { self.addFan(at: 8_000) }
        self.addMoment(
            "Football: goal, 1:1; APNs closes its connections in the middle (GOAWAY)", at: 9_500,
            self.goal(1, 1, minute: 67, by: "Egghead"))
        self.add(60, after: 9_500, .goAway)
        // The referee looks again. Whoever has not heard of the goal by then never does.
        self.add(at: 12_400, .answersTake(millis: Self.slowAnswerMillis))
        self.addMoment("Football: goal, 2:1 …", at: 12_500, self.goal(2, 1, minute: 88, by: "Power Panda"))
        var offside = self.score(1, 1, minute: 88)
        offside.priority = 10
        offside.withdrawsAlert = true
        self.addMoment("Football: … taken back: it was offside", at: 13_200, offside)
        self.add(at: 15_000, .answersTake(millis: nil))
        var whistle = StoryEvent(
            .end, app: Self.football, contentState: "{\"home\":1,\"away\":1,\"minute\":90,\"over\":true}",
            alert: "{\"title\":\"Full time\",\"body\":\"1:1\"}")
        whistle.dismissalDateSeconds = self.startSeconds + 3_600
        self.addMoment("Football: full time", at: 15_500, whistle)
    }

    /// The app of one more phone has started the activity, and joins with its update token.
    private mutating func addFan(at writtenMillis: Int) {
        let join = StoryMembership.join(Self.match, app: Self.football, token: self.token(), frequentUpdates: true)
        self.add(at: writtenMillis, .publish(Publication(join)))
    }

    private mutating func addMoment(_ title: String, at writtenMillis: Int, _ event: StoryEvent) {
        var event = event
        event.audience = Self.match
        self.add(at: writtenMillis, .say(title))
        self.add(at: writtenMillis, .publish(Publication(Self.match, event)))
    }

    private func score(_ home: Int, _ away: Int, minute: Int) -> StoryEvent {
        StoryEvent(
            .update, app: Self.football, contentState: "{\"home\":\(home),\"away\":\(away),\"minute\":\(minute)}")
    }

    private func goal(_ home: Int, _ away: Int, minute: Int, by scorer: String) -> StoryEvent {
        var event = self.score(home, away, minute: minute)
        event.alert =
            "{\"title\":{\"loc-key\":\"%@ scores!\",\"loc-args\":[\"\(scorer)\"]},\"body\":\"\(home):\(away)\",\"sound\":\"goal.caf\"}"
        event.priority = 10
        return event
    }
}
