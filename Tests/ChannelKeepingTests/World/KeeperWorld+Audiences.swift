import APNSProtocol
import ChannelKeeping

/// The acts of audiences, their owners and other systems.
extension KeeperWorld {
    mutating func audienceActs(_ index: Int) {
        guard !self.isQuiet else { return }
        var audience = self.audiences[index]
        switch audience.stage {
        case .none:
            audience.life += 1
            audience.stage = .alive
            audience.channel = nil
            self.audiences[index] = audience
            self.send(.open(audience.owner, audience.policy))
            self.schedule(in: 60_000, .asksAgain(index, life: audience.life))
        case .alive:
            let owner = audience.owner
            audience.stage = .ended
            self.audiences[index] = audience
            // Some audiences are voided without an end.
            if !self.chance(200) {
                self.send(.ended(owner, content: audience.endContent))
            } else {
                self.send(.voided(owner))
            }
        case .ended:
            audience.stage = .none
            self.audiences[index] = audience
            self.send(.voided(audience.owner))
        }
        let isQuick = self.chance(300)
        self.schedule(in: isQuick ? self.draw(0...90_000) : self.draw(60_000...3_600_000), .audience(index))
    }

    /// Lets an owner ask for a channel until it has one, and sometimes again.
    mutating func askAgain(_ index: Int, life: Int64) {
        let audience = self.audiences[index]
        let isOver = self.steadyMillis > 1_000_000 + self.plan.endMillis - 600_000
        guard audience.stage == .alive, audience.life == life, !isOver else { return }
        if audience.channel == nil || self.chance(100) { self.send(.open(audience.owner, audience.policy)) }
        self.schedule(in: self.draw(60_000...400_000), .asksAgain(index, life: life))
    }

    /// Hands the keeper's news to an owner.
    mutating func hear(_ owner: KeptOwner, _ news: KeeperNews) {
        guard let index = self.audiences.firstIndex(where: { $0.owner == owner }) else { return }
        switch news {
        case .opened(let id): self.audiences[index].channel = id
        case .vanished(let id), .closed(let id):
            if self.audiences[index].channel == id { self.audiences[index].channel = nil }
        case .refused: self.audiences[index].refusals += 1
        }
    }

    mutating func othersAct() {
        guard !self.isQuiet else { return }
        if self.plan.othersCome, self.chance(700) {
            _ = self.apple.create(.other, .none, atMillis: self.steadyMillis)
        } else if self.plan.othersCome, let channel = self.pick({ $0.maker == .other }) {
            _ = self.apple.delete(channel, atMillis: self.steadyMillis)
        } else if self.plan.othersDelete, let channel = self.pick({ $0.maker == .keeper }) {
            self.vanishedByOthers.insert(channel)
            _ = self.apple.delete(channel, atMillis: self.steadyMillis)
        }
        self.schedule(in: self.draw(1_000...900_000), .others)
    }

    private mutating func pick(_ isMeant: (AppleModel.Channel) -> Bool) -> [UInt8]? {
        self.apple.registered.filter(isMeant).randomElement(using: &self.random)?.id
    }
}
