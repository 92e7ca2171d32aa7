import DeviceModel

/// What becomes of pushes that APNs keeps while a phone is away. APNs keeps only the newest push for a device.
extension Timeline {
    /// Ends the wait of an earlier push to the same device, because another push waits now or has arrived.
    /// - Parameter id: entry of the push.
    mutating func heedKeptPush(_ push: ObservedPush, _ id: Int, of phone: Int, _ verdict: PushVerdict) {
        guard push.hadWaited || verdict.word == .waiting else { return }
        for card in [phone] + (self.phones[phone].map(self.cardsBeside) ?? []) {
            guard let kept = self.phones[card]?.keptPush, kept > 0 else { continue }
            guard push.hadWaited, case .push(let listed)? = self.entry(kept)?.body, listed.messageID == push.messageID
            else {
                self.endKeeping(
                    of: card, PushVerdict(.dropped, "APNs dropped it for a newer push while the phone was away."))
                continue
            }
            self.endKeeping(of: card, PushVerdict(.waited, "It waited at APNs until the phone was back."))
        }
        if !push.hadWaited { self.changePhone(phone) { $0.keptPush = id } }
    }

    /// Ends the wait of a push that a returning phone did not get. If the phone had got it, the push would be listed.
    mutating func heedReturn(of phone: Int) {
        guard let kept = self.phones[phone]?.keptPush, kept > 0 else { return }
        self.endKeeping(
            of: phone,
            self.unlisted.pushes == 0
                ? PushVerdict(.dropped, "APNs dropped it while the phone was away: it expired, or a newer push came.")
                : PushVerdict(
                    .waited,
                    "It waited at APNs until the phone was back. Pushes came too fast to be listed, so this page does not know whether it arrived."
                ))
    }

    private mutating func endKeeping(of phone: Int, _ verdict: PushVerdict) {
        guard let kept = self.phones[phone]?.keptPush else { return }
        self.change(kept) { entry in
            guard case .push(var push) = entry.body else { return }
            push.verdict = verdict
            entry.body = .push(push)
        }
        self.changePhone(phone) { phone in
            phone.keptPush = 0
            if phone.lastPush == kept { phone.lastVerdict = verdict }
        }
    }
}
