import Upstream

extension Script {
    /// Adds an evening of pizza orders: each is registered, cooked, delivered and eaten.
    mutating func addPizzaOrders(count: Int) {
        self.add(at: 0, .say("Pizza: \(count) orders arrive, one every 40 ms"))
        for number in 0..<count {
            let order = "pizza-\(number)"
            let ordered = number * 40
            self.add(at: ordered, .publish(Publication(order, StoryRegistration(app: Self.pizza, token: self.token()))))
            self.add(at: ordered, .publish(Publication(order, self.preparing(number))))
            let baked = ordered + 3_000 + self.jitter(500)
            self.add(
                at: baked,
                .publish(
                    Publication(order, StoryEvent(.update, app: Self.pizza, contentState: "{\"step\":\"in the oven\"}"))
                ))
            let left = ordered + 6_000 + self.jitter(500)
            self.add(at: left, .publish(Publication(order, self.onItsWay(number))))
            let arrived = ordered + 9_000 + self.jitter(500)
            self.add(at: arrived, .publish(Publication(order, self.atTheDoor)))
            var eaten = StoryEvent(.end, app: Self.pizza, contentState: "{\"step\":\"delivered\",\"rating\":null}")
            eaten.dismissalDateSeconds = self.startSeconds + 900
            self.add(at: arrived + 2_000, .publish(Publication(order, eaten)))
        }
    }

    private func preparing(_ number: Int) -> StoryEvent {
        var event = StoryEvent(
            .update, app: Self.pizza,
            contentState: "{\"step\":\"preparing\",\"pizzas\":\(1 + number % 4),\"total\":\(12 + number % 7).50}")
        event.relevanceScore = "50"
        return event
    }

    private func onItsWay(_ number: Int) -> StoryEvent {
        var event = StoryEvent(
            .update, app: Self.pizza,
            contentState:
                "{\"step\":\"on its way\",\"driverName\":\"Anne \(number)\",\"estimatedDeliveryTime\":\(self.startSeconds + 600)}",
            priority: 10)
        event.staleDateSeconds = self.startSeconds + 1_200
        event.relevanceScore = "75"
        return event
    }

    private var atTheDoor: StoryEvent {
        StoryEvent(
            .update, app: Self.pizza, contentState: "{\"step\":\"at the door\"}",
            alert: "{\"title\":\"Your pizza is here\",\"body\":\"Anne is at the door.\",\"sound\":\"bell.caf\"}")
    }
}
