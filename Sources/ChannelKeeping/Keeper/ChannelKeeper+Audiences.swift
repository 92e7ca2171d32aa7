public import APNSProtocol
public import PushModel

/// Messages of audiences' owners. Each has a receipt, which is resolved once the message's effect is durable.
extension ChannelKeeper {
    /// Handles an audience's wish for a channel. The audience may ask any number of times: each of its lives has one
    /// channel.
    public mutating func audienceOpens(
        _ owner: KeptOwner, policy: MessageStoragePolicy, receipt: UInt64, now: EngineTime
    ) -> [KeeperAction] {
        self.open(owner, policy: policy, receipt: receipt, now: now)
        return self.proceed(now: now)
    }

    private mutating func open(_ owner: KeptOwner, policy: MessageStoragePolicy, receipt: UInt64, now: EngineTime) {
        if let number = self.table.number(of: owner) {
            return self.openAgain(number, owner, receipt: receipt, now: now)
        }
        let lives = self.table.numbers(audience: owner.audience).compactMap { self.table[$0]?.channel.owner?.life }
        guard !lives.contains(where: { $0 > owner.life }) else {
            return self.refuse(owner, .lifeIsOver, receipt: receipt)
        }
        // A life whose end was never reported ends when the next one begins. Its end cannot be broadcast again, because
        // its content is not known.
        for life in lives {
            self.end(KeptOwner(audience: owner.audience, life: life), content: [], receipt: nil, now: now)
        }
        if let warm = self.table.readyNumber(policy) {
            self.give(warm, to: owner, receipt: receipt)
            return
        }
        if let hold = self.hold, now.steadyMillis < hold.untilMillis {
            return self.refuse(owner, hold.refusal, receipt: receipt)
        }
        guard self.table.count < self.settings.keptMax else {
            return self.refuse(owner, .full(keptMax: self.settings.keptMax), receipt: receipt)
        }
        guard self.table.count(in: .wanted) + self.table.count(in: .asked) < self.settings.waitingMax else {
            return self.refuse(owner, .tooManyWaiting(waitingMax: self.settings.waitingMax), receipt: receipt)
        }
        let number = self.table.add(
            KeptChannel(owner: owner, policy: policy, phase: .wanted, sinceMillis: now.wallMillis))
        self.table.change(number) { $0.receipts.append(receipt) }
    }

    private mutating func openAgain(_ number: Int64, _ owner: KeptOwner, receipt: UInt64, now: EngineTime) {
        guard let held = self.table[number] else { return }
        switch held.channel.phase {
        case .wanted, .asked: break
        case .open:
            // An unannounced channel will be announced anyway. If the owner asks again for an announced one, APNs has
            // refused the channel, or the owner missed the news. The list decides.
            if held.channel.isAnnounced { self.doubt(number, now: now) }
        case .ended, .deleting, .deleted:
            self.actions.append(.send(owner: owner, news: .refused(.lifeIsOver)))
        case .possiblyOurs: break
        }
        self.resolve(receipt, with: number)
    }

    /// Handles the end of an audience's life.
    /// - Parameter content: the `end` to broadcast again; empty for none. Content longer than
    ///   `KeptChannelCodec.endByteCountMax` is not kept.
    public mutating func audienceEnded(
        _ owner: KeptOwner, content: [UInt8], receipt: UInt64, now: EngineTime
    ) -> [KeeperAction] {
        self.end(owner, content: content, receipt: receipt, now: now)
        return self.proceed(now: now)
    }

    private mutating func end(_ owner: KeptOwner, content: [UInt8], receipt: UInt64?, now: EngineTime) {
        guard let number = self.table.number(of: owner), let held = self.table[number] else {
            return self.resolve(receipt, with: nil)
        }
        switch held.channel.phase {
        case .wanted, .asked: self.giveUpWish(number)
        case .open:
            let isKept = content.count <= KeptChannelCodec.endByteCountMax
            self.table.change(number) {
                $0.channel.enter(.ended, wallMillis: now.wallMillis)
                $0.channel.endedMillis = now.wallMillis
                $0.channel.end = isKept ? content : []
                $0.anchorMillis = now.steadyMillis
                $0.news = nil
            }
        case .ended, .deleting, .deleted, .possiblyOurs: break
        }
        self.resolve(receipt, with: number)
    }

    /// Handles the void of an audience's life. If the life's end was reported, the channel still lingers. Otherwise the
    /// channel is deleted, because no card is that old.
    public mutating func audienceVoided(_ owner: KeptOwner, receipt: UInt64, now: EngineTime) -> [KeeperAction] {
        let number = self.table.number(of: owner)
        if let number, let held = self.table[number] {
            switch held.channel.phase {
            case .wanted, .asked: self.giveUpWish(number)
            case .open: self.delete(number, now: now)
            case .ended, .deleting, .deleted, .possiblyOurs: break
            }
        }
        self.resolve(receipt, with: number)
        return self.proceed(now: now)
    }

    /// Ends a wish. A creation that has left continues, and its channel then has no owner.
    private mutating func giveUpWish(_ number: Int64) {
        guard self.table[number]?.channel.phase == .asked else { return self.table.leave(number) }
        self.table.change(number) {
            $0.channel.owner = nil
            $0.news = nil
        }
    }

    /// Resolves the receipt once the record is written, or at once if there is nothing to write.
    private mutating func resolve(_ receipt: UInt64?, with number: Int64?) {
        guard let receipt else { return }
        guard let number, let held = self.table[number], held.isDirty || held.write != nil else {
            self.actions.append(.resolve(receipt: receipt))
            return
        }
        self.table.update(number) { $0.receipts.append(receipt) }
    }

    private mutating func refuse(_ owner: KeptOwner, _ refusal: KeeperRefusal, receipt: UInt64) {
        self.counters.refused += 1
        self.actions.append(.send(owner: owner, news: .refused(refusal)))
        self.actions.append(.resolve(receipt: receipt))
    }

    // MARK: Warm channels

    private mutating func give(_ warm: Int64, to owner: KeptOwner, receipt: UInt64?) {
        self.table.change(warm) {
            $0.channel.owner = owner
            $0.channel.isAnnounced = false
            if let receipt { $0.receipts.append(receipt) }
        }
    }

    /// Gives warm channels to waiting audiences. The channel's record is written before the tombstone of the wish.
    mutating func serveFromPool(now: EngineTime) {
        for policy in MessageStoragePolicy.allCases {
            while let warm = self.table.readyNumber(policy), let wish = self.table.nextWish(policy),
                let owner = self.table[wish]?.channel.owner
            {
                self.table.leave(wish)
                self.give(warm, to: owner, receipt: nil)
                self.flush(warm)
                self.flush(wish)
            }
        }
    }
}
