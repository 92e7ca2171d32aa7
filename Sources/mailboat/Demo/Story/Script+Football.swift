import Upstream

extension Script {
    /// A football match that many fans follow: each goal is one push to every fan at once.
    mutating func addFootballMatch(fanCount: Int) {
        for fan in 0..<fanCount {
            let registration = StoryRegistration(app: Self.football, token: self.token(), frequentUpdates: true)
            self.add(at: -1_000, .publish(Publication("fan-\(fan)", registration)))
        }
        self.addMoment(
            "Football: kick-off, \(fanCount) fans follow", at: 1_000, fanCount: fanCount, self.score(0, 0, minute: 1))
        self.addMoment(
            "Football: goal, 1:0", at: 4_500, fanCount: fanCount, self.goal(1, 0, minute: 23, by: "Power Panda"))
        self.addMoment(
            "Football: 45th minute, nobody is woken", at: 7_000, fanCount: fanCount, self.score(1, 0, minute: 45))
        self.addMoment(
            "Football: goal, 1:1; APNs closes its connections in the middle (GOAWAY)", at: 9_500, fanCount: fanCount,
            self.goal(1, 1, minute: 67, by: "Egghead"))
        self.add(60, after: 9_500, .goAway)
        // The referee looks again: two goals within a second, of which the phone need only see the last.
        self.addMoment(
            "Football: goal, 2:1", at: 12_500, fanCount: fanCount, self.goal(2, 1, minute: 88, by: "Power Panda"))
        self.addMoment(
            "Football: and at once 3:1", at: 12_800, fanCount: fanCount, self.goal(3, 1, minute: 89, by: "Power Panda"))
        var whistle = StoryEvent(
            .end, app: Self.football, contentState: "{\"home\":3,\"away\":1,\"minute\":90,\"over\":true}",
            alert: "{\"title\":\"Full time\",\"body\":\"3:1\"}")
        whistle.dismissalDateSeconds = self.startSeconds + 3_600
        self.addMoment("Football: full time", at: 15_500, fanCount: fanCount, whistle)
    }

    private mutating func addMoment(_ title: String, at writtenMillis: Int, fanCount: Int, _ event: StoryEvent) {
        self.add(at: writtenMillis, .say(title))
        // Every fan gets the same bytes: they are written once and shared.
        var publication = Publication("", event)
        for fan in 0..<fanCount {
            publication.activity = "fan-\(fan)"
            self.add(at: writtenMillis, .publish(publication))
        }
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
