import APNSProtocol
public import PushModel

/// Channels of ended lives. They linger while the end is broadcast again, and are then deleted.
extension ChannelKeeper {
    mutating func serveEnds(now: EngineTime) {
        while let due = self.table.lingering.first, due.millis <= now.steadyMillis {
            self.delete(due.number, now: now)
        }
        while self.beacons.count < self.settings.beaconsInFlightMax, let due = self.table.beacons.first,
            due.millis <= now.steadyMillis, let held = self.table[due.number]
        {
            self.sendBeacon(
                held, dueCount: self.schedule.dueCount(afterMillis: now.steadyMillis - held.anchorMillis))
        }
    }

    private mutating func sendBeacon(_ held: HeldChannel, dueCount: Int) {
        let request = self.token()
        self.beacons[request] = (held.number, dueCount)
        self.table.update(held.number) { $0.isBeaconInFlight = true }
        self.actions.append(
            .beacon(request: request, id: held.channel.id, policy: held.channel.policy, end: held.channel.end))
    }

    /// Takes the result of a beacon. One beacon makes up for all that were due when it left.
    public mutating func beaconAnswered(request: UInt64, _ answer: BeaconAnswer, now: EngineTime) -> [KeeperAction] {
        guard let (number, dueCount) = self.beacons.removeValue(forKey: request) else { return self.proceed(now: now) }
        self.table.update(number) { $0.isBeaconInFlight = false }
        guard let held = self.table[number], held.channel.phase == .ended else { return self.proceed(now: now) }
        switch answer {
        case .sent:
            self.counters.beacons += 1
            self.table.change(number) {
                $0.channel.beaconsSent = dueCount
                // Apple has accepted this beacon, and stores it for phones that are off.
                if $0.channel.policy == .mostRecent { $0.channel.end = [] }
            }
        case .failed:
            self.table.update(number) { $0.beaconNotBeforeMillis = now.steadyMillis + Self.beaconRetryMillis }
        case .channelGone:
            self.reportVanished(held.channel.id)
            self.gone(number, now: now)
        }
        return self.proceed(now: now)
    }

    /// Time from a failed beacon to the next attempt, milliseconds.
    private static var beaconRetryMillis: Int64 { 30_000 }

    var endsDeadline: Int64? {
        // When there is no room, the next beacon waits for an answer, so it has no deadline.
        let hasRoom = self.beacons.count < self.settings.beaconsInFlightMax
        let beacon = hasRoom ? self.table.beacons.first : nil
        return [beacon, self.table.lingering.first].compactMap { $0?.millis }.min()
    }
}
