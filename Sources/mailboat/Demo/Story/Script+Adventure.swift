import Upstream

extension Script {
    /// Number of heroes that push many updates at high priority, more than the app's budget allows. See
    /// `DemoStage.adventureBudgetPerHour`.
    static let recklessHeroCount = 8

    /// Adds a game's party that sets out together: started by push, then bursts of small changes that merge, alerts,
    /// and the end.
    mutating func addAdventureParty(heroCount: Int) {
        self.add(at: 2_000, .say("Adventure: \(heroCount) heroes set out, started by push"))
        for number in 0..<heroCount {
            let hero = "hero-\(number)"
            let startToken = self.token()
            let updateToken = self.token()
            let start = self.start(number, token: startToken)
            self.add(at: 2_000 + number * 5, .publish(Publication(hero, start)))
            let registration = Publication(hero, StoryRegistration(app: Self.adventure, token: updateToken))
            self.add(
                at: 2_000 + number * 5,
                .registerOnceStarted(startToken: startToken, updateToken: updateToken, registration))
            if number < 2 {
                // A backend publishes the start again, although the party is already on its way.
                self.add(at: 6_000, .publish(Publication(hero, setAside: start.value, as: ["duplicate"])))
            }
            for burst in 0..<3 { self.addBurst(hero, number: number, burst: burst) }
            if number % 4 == 0 {
                var knockedDown = self.health(0, number: number, round: 99)
                knockedDown.alert =
                    "{\"title\":{\"loc-key\":\"%@ is knocked down!\",\"loc-args\":[\"Hero \(number)\"]},\"body\":\"Use a potion!\","
                    + "\"sound\":\"HeroDown.mp4\"}"
                self.add(at: 11_000 + self.jitter(800), .publish(Publication(hero, knockedDown)))
            }
            if number < Self.recklessHeroCount { self.addRecklessPushes(hero, number: number) }
            if number % 2 == 0 {
                // An end without content leaves the last content on the card.
                self.add(
                    at: 16_000 + self.jitter(400), .publish(Publication(hero, StoryEvent(.end, app: Self.adventure))))
            }
        }
        self.add(at: 5_000, .say("Adventure: bursts of 12 small updates in 0.7 s, which merge into one push or two"))
        self.add(at: 11_000, .say("Adventure: heroes are knocked down; the alerts arrive whatever merges"))
    }

    private mutating func addBurst(_ hero: String, number: Int, burst: Int) {
        let begins = 5_000 + burst * 3_300 + self.jitter(300)
        for step in 0..<12 {
            let event = self.health(100 - burst * 20 - step, number: number, round: burst * 12 + step)
            self.add(step * 60, after: begins, .publish(Publication(hero, event)))
        }
    }

    private mutating func addRecklessPushes(_ hero: String, number: Int) {
        for push in 0..<9 {
            var event = self.health(90 - push, number: number, round: 40 + push)
            event.priority = 10
            self.add(at: 4_000 + push * 1_250, .publish(Publication(hero, event)))
        }
    }

    private func start(_ number: Int, token: String) -> StoryEvent {
        var event = StoryEvent(
            .start, app: Self.adventure,
            contentState: "{\"currentHealthLevel\":100,\"eventDescription\":\"Adventure has begun!\"}",
            alert: "{\"title\":{\"loc-key\":\"%@ is on an adventure!\",\"loc-args\":[\"Hero \(number)\"]},"
                + "\"body\":{\"loc-key\":\"%@ found a sword!\",\"loc-args\":[\"Hero \(number)\"]},\"sound\":\"chime.aiff\"}"
        )
        event.startToken = token
        event.attributesType = "AdventureAttributes"
        event.attributes = "{\"currentHealthLevel\":100,\"eventDescription\":\"Hero \(number) sets out\"}"
        return event
    }

    private func health(_ level: Int, number: Int, round: Int) -> StoryEvent {
        StoryEvent(
            .update, app: Self.adventure,
            contentState: "{\"currentHealthLevel\":\(level),\"eventDescription\":\"Hero \(number), round \(round)\"}")
    }
}
