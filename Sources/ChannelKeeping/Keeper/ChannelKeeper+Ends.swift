public import PushModel

/// A life that is over: its end is broadcast again, and its channel lingers and goes.
extension ChannelKeeper {
    private func elapsedMillis(_ held: HeldChannel, now: EngineTime) -> Int64 { now.steadyMillis - held.anchorMillis }

    private func dueBeacons(_ held: HeldChannel, now: EngineTime) -> Int {
        held.channel.end.isEmpty ? 0 : self.schedule.dueCount(afterMillis: self.elapsedMillis(held, now: now))
    }

    mutating func serveEnds(now: EngineTime) {
        for number in self.table.numbers(in: .ended) {
            guard let held = self.table[number], !held.isBeaconInFlight, held.isDurable else { continue }
            let owesBeacon = self.dueBeacons(held, now: now) > held.channel.beaconsSent
            let overMillis = self.elapsedMillis(held, now: now) - self.settings.lingerMillis
            if overMillis >= (owesBeacon ? self.settings.beaconGraceMillis : 0) {
                self.delete(number, now: now)
            } else if owesBeacon, now.steadyMillis >= held.beaconNotBeforeMillis,
                self.beacons.count < self.settings.beaconsInFlightMax
            {
                self.sendBeacon(held, dueCount: self.dueBeacons(held, now: now))
            }
        }
    }

    private mutating func sendBeacon(_ held: HeldChannel, dueCount: Int) {
        let request = self.token()
        self.beacons[request] = (held.number, dueCount)
        self.table.note(held.number) { $0.isBeaconInFlight = true }
        self.actions.append(.beacon(request: request, id: held.channel.id, end: held.channel.end))
    }

    /// A beacon is answered, or lost. One beacon makes up for all that were due when it left.
    public mutating func beaconAnswered(request: UInt64, _ answer: BeaconAnswer, now: EngineTime) -> [KeeperAction] {
        guard let (number, dueCount) = self.beacons.removeValue(forKey: request) else { return self.proceed(now: now) }
        self.table.note(number) { $0.isBeaconInFlight = false }
        guard let held = self.table[number], held.channel.phase == .ended else { return self.proceed(now: now) }
        switch answer {
        case .sent:
            self.counters.beacons += 1
            self.table.change(number) { $0.channel.beaconsSent = dueCount }
        case .failed:
            self.table.note(number) { $0.beaconNotBeforeMillis = now.steadyMillis + Self.beaconRetryMillis }
        case .channelGone:
            self.noteVanished(held.channel.id)
            self.gone(number, now: now)
        }
        return self.proceed(now: now)
    }

    /// Between two attempts at a beacon, milliseconds.
    private static var beaconRetryMillis: Int64 { 30_000 }

    func endsDeadline(now: EngineTime) -> Int64? {
        self.table.numbers(in: .ended).compactMap { number -> Int64? in
            guard let held = self.table[number], !held.isBeaconInFlight, held.isDurable else { return nil }
            let next = held.channel.end.isEmpty ? nil : self.schedule.offsetMillis(of: held.channel.beaconsSent)
            guard let next else { return held.anchorMillis + self.settings.lingerMillis }
            // A beacon's answer, and not the clock, tells when there is room for another.
            guard self.beacons.count < self.settings.beaconsInFlightMax else { return nil }
            return max(held.anchorMillis + next, held.beaconNotBeforeMillis)
        }.min()
    }
}
