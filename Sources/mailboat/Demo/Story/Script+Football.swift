import Upstream

extension Script {
    /// The audience of the match.
    static let match = "final"
    /// How long APNs takes to answer while the cancelled goal is sent. If it were faster, the goal would reach
    /// everybody at once.
    static let slowAnswerMillis = 250

    /// Adds a football match that many fans follow. They are members of one audience, and each event is one record. The
    /// kick-off puts up their cards.
    mutating func addFootballMatch(fanCount: Int) {
        // The channel must exist before the first card is put up. A start names it to phones that can listen.
        self.addBeforehand(
            .publish(
                Publication(
                    Self.match,
                    setAside: Array(
                        "{\"event\":\"open\",\"app\":\"\(Self.football)\",\"to\":{\"audience\":\"\(Self.match)\"}}".utf8
                    ),
                    as: ["applied"])))
        for number in 0..<fanCount {
            self.addFanToBeStarted(joiningAt: -1_000, startedFrom: 0, listens: !number.isMultiple(of: 2))
        }
        var kickOff = self.score(0, 0, minute: 1)
        kickOff.kind = .start
        kickOff.alert = "{\"title\":\"Kick-off\",\"body\":\"The final has begun\"}"
        kickOff.attributesType = "MatchAttributes"
        kickOff.attributes = "{\"home\":\"Pandas\",\"away\":\"Eggs\"}"
        self.addMoment(
            "Football: kick-off, the cards of \(fanCount) fans are put up by push, and every second one listens to the match's channel",
            at: 0, kickOff)
        self.addMoment("Football: goal, 1:0", at: 5_500, self.goal(1, 0, minute: 23, by: "Power Panda"))
        self.addMoment("Football: 45th minute, nobody is woken", at: 7_000, self.score(1, 0, minute: 45))
        let lateCount = max(1, fanCount / 20)
        // Late fans join after the event of the 45th minute has been sent. A phone that begins to listen between an
        // event and its broadcast gets the broadcast and a push.
        self.add(at: 8_700, .say("Football: \(lateCount) fans join late and are shown the score quietly"))
        for number in 0..<lateCount { self.addFan(at: 8_700, listens: !number.isMultiple(of: 2)) }
        self.addMoment(
            "Football: goal, 1:1; APNs closes its connections in the middle (GOAWAY)", at: 9_500,
            self.goal(1, 1, minute: 67, by: "Egghead"))
        self.add(60, after: 9_500, .goAway)
        // The goal is cancelled a moment later. A phone that has not been told of the goal by then never is.
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

    /// Adds a phone that joins with its push-to-start token. Once its card is up, its app gets an update token and
    /// joins with that.
    /// - Parameter listens: whether the phone listens to the match's channel instead.
    private mutating func addFanToBeStarted(
        joiningAt writtenMillis: Int, startedFrom startMillis: Int, listens: Bool
    ) {
        let (startToken, updateToken) = (self.token(), self.token())
        let toBeStarted = StoryMembership.joinToBeStarted(
            Self.match, app: Self.football, token: startToken, isChannelCapable: listens)
        self.add(at: writtenMillis, .publish(Publication(toBeStarted)))
        guard !listens else { return self.add(at: startMillis, .listenOnceStarted(startToken: startToken)) }
        let join = StoryMembership.join(Self.match, app: Self.football, token: updateToken, frequentUpdates: true)
        self.add(
            at: startMillis,
            .registerOnceStarted(startToken: startToken, updateToken: updateToken, Publication(join)))
    }

    /// Adds a phone whose app has started the activity. It joins with its update token.
    /// - Parameter listens: whether the phone listens to the match's channel, which its join then names.
    private mutating func addFan(at writtenMillis: Int, listens: Bool) {
        let join = StoryMembership.join(Self.match, app: Self.football, token: self.token(), frequentUpdates: true)
        self.add(at: writtenMillis, listens ? .listenAndJoin(join) : .publish(Publication(join)))
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
