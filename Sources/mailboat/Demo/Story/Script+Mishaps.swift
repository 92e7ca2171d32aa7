import Upstream

extension Script {
    /// Adds what goes wrong on an ordinary evening: tokens rotate and die, and records are broken, delayed, old or on
    /// the wrong partition.
    mutating func addMishaps() {
        self.add(at: 3_000, .say("Mishaps: tokens rotate and die, records are broken, late, old and misplaced"))
        self.addRotatedTokens(count: 12)
        self.addDeadTokens(count: 6)
        self.addMisplaced(count: 20)
        self.addOutOfTime()
        self.addMalformed()
    }

    /// Adds activities whose token ActivityKit rotates. An update after the rotation is answered 410 and waits for the
    /// registration of the new token.
    private mutating func addRotatedTokens(count: Int) {
        for number in 0..<count {
            let order = "rotated-\(number)"
            let (old, new) = (self.token(), self.token())
            self.add(at: 500, .publish(Publication(order, StoryRegistration(app: Self.pizza, token: old))))
            self.add(at: 600, .publish(Publication(order, self.step("preparing"))))
            self.add(at: 3_500, .rotateToken(from: old, to: new))
            self.add(at: 4_000, .publish(Publication(order, self.step("in the oven", priority: 10))))
            self.add(1_500, after: 4_000, .publish(Publication(order, StoryRegistration(app: Self.pizza, token: new))))
            self.add(at: 8_000, .publish(Publication(order, self.step("delivered"))))
        }
    }

    /// Adds tokens of removed apps and tokens that APNs never knew. Their updates wait for another token and are then
    /// rejected.
    private mutating func addDeadTokens(count: Int) {
        for number in 0..<count {
            let order = "dead-\(number)"
            let token = self.token()
            self.add(at: 500, .publish(Publication(order, StoryRegistration(app: Self.pizza, token: token))))
            if number % 3 == 2 {
                self.add(at: 400, .disownToken(token))
            } else {
                self.add(at: 600, .publish(Publication(order, self.step("preparing"))))
                self.add(at: 3_500, .killToken(token))
            }
            let update = self.step("in the oven", priority: 10)
            self.add(at: 5_000, .publish(Publication(order, setAside: update.value, as: ["rejected"])))
        }
        // Nobody ever registers this activity.
        self.add(
            at: 4_000, .publish(Publication("stranger", setAside: self.step("preparing").value, as: ["unregistered"])))
    }

    /// Adds records that a client with another partitioner has put on the wrong partition.
    private mutating func addMisplaced(count: Int) {
        for number in 0..<count {
            let order = "misplaced-\(number)"
            let registration = StoryRegistration(app: Self.pizza, token: self.token())
            var publication = Publication(order, registration)
            publication.isMisplaced = number % 2 == 0
            self.add(at: 2_000, .publish(publication))
            self.add(at: 3_000, .publish(Publication(order, self.step("preparing"), isMisplaced: true)))
            self.add(at: 6_000, .publish(Publication(order, self.step("on its way", priority: 10), isMisplaced: true)))
        }
    }

    /// Adds events that are older than what the phone shows, have expired, or arrive after the end.
    private mutating func addOutOfTime() {
        let order = "late-0"
        self.add(at: 500, .publish(Publication(order, StoryRegistration(app: Self.pizza, token: self.token()))))
        self.add(at: 600, .publish(Publication(order, self.step("on its way", priority: 10))))
        var old = self.step("preparing", priority: 10)
        old.timestampSeconds = self.startSeconds - 600
        var superseded = Publication(order, old)
        superseded.outcomes = ["superseded"]
        self.add(at: 4_000, .publish(superseded))
        var expired = self.step("in the oven", priority: 10)
        expired.expiresSeconds = self.startSeconds - 60
        self.add(at: 5_000, .publish(Publication(order, setAside: expired.value, as: ["expired"])))
        self.add(
            at: 7_000,
            .publish(Publication(order, StoryEvent(.end, app: Self.pizza, contentState: "{\"step\":\"delivered\"}"))))
        var late = Publication(order, self.step("in the oven"))
        late.outcomes = ["late"]
        self.add(at: 10_000, .publish(late))
    }

    private mutating func addMalformed() {
        let values = [
            "not JSON at all",
            "{\"event\":\"update\",\"app\":\"\(Self.pizza)\",\"contentState\":{}}",
            "{\"event\":\"update\",\"app\":\"\(Self.pizza)\",\"content-state\":{},\"timestamp\":1685952000000}",
            "{\"event\":\"update\",\"app\":\"com.example.nobody\",\"content-state\":{}}",
            "{\"event\":\"update\",\"app\":\"\(Self.pizza)\",\"priority\":7,\"content-state\":{}}",
        ]
        for (number, value) in values.enumerated() {
            self.add(
                at: 3_000 + number * 900,
                .publish(Publication("malformed-\(number)", setAside: Array(value.utf8), as: ["dead-lettered"])))
        }
        let keyless = Publication("", setAside: self.step("preparing").value, as: ["dead-lettered"], key: .some(nil))
        self.add(at: 7_500, .publish(keyless))
    }

    private func step(_ name: String, priority: Int? = nil) -> StoryEvent {
        StoryEvent(.update, app: Self.pizza, contentState: "{\"step\":\"\(name)\"}", priority: priority)
    }
}
