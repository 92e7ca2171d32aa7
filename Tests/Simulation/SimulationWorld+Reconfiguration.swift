import PushEngine
import PushModel
import ShardLoop

/// Settings that change while workers run, separately in each worker. All judgements hold with any of these settings.
extension SimulationWorld {
    /// Perhaps gives a running worker another configuration.
    func perhapsReconfigure() {
        guard self.plan.reconfigurationPercent > 0,
            Int.random(in: 0..<100, using: &self.reconfigurationRandom) < self.plan.reconfigurationPercent
        else { return }
        let running = self.workers.filter { $0.runs }
        guard let worker = running.randomElement(using: &self.reconfigurationRandom) else { return }
        self.rememberStruck()
        var configuration = self.loopConfiguration()
        for app in configuration.engine.apps.indices {
            configuration.engine.apps[app].lowPriorityWindowMillis = Int64.random(
                in: 0...10_000, using: &self.reconfigurationRandom)
            guard self.plan.kept.isOn else { continue }
            configuration.engine.apps[app].channelFallbackMillis = Int64.random(
                in: 10_000...120_000, using: &self.reconfigurationRandom)
            // The drawn distance is never less than the configured one, which the judge checks.
            configuration.engine.apps[app].minimumDistanceMillis = Int64.random(
                in: self.plan.app.minimumDistanceMillis...self.minimumDistanceMillisMax,
                using: &self.reconfigurationRandom)
        }
        // The drawn limit is never more than the configured one, which the judge checks.
        let most = configuration.engine.settings.unacknowledgedMax
        configuration.engine.settings.unacknowledgedMax = Int.random(
            in: min(4, most)...most, using: &self.reconfigurationRandom)
        configuration.engine.settings.retryBackoffMinMillis = Int64.random(
            in: 100...2_000, using: &self.reconfigurationRandom)
        configuration.settings.commitIntervalMillis = Int64.random(
            in: 50...2_000, using: &self.reconfigurationRandom)
        configuration.settings.recordHoldMillis = Int64.random(in: 1...1_000, using: &self.reconfigurationRandom)
        self.log("worker \(worker.number) gets another configuration")
        do throws(ReconfigurationRefusal) {
            try worker.loop.reconfigure(configuration, now: self.now(of: worker))
        } catch {
            self.fail("worker \(worker.number) does not take a configuration: \(error)")
        }
    }

    /// The longest of the minimum distances between two pushes to a phone that the settings of this world have over
    /// time.
    var minimumDistanceMillisMax: Int64 {
        let distance = self.plan.app.minimumDistanceMillis
        return self.plan.kept.isOn && self.plan.reconfigurationPercent > 0 ? 3 * distance : distance
    }
}

extension SimulationPlan {
    /// On average, one in this number of worlds has settings that change.
    private static let worldsPerChangingWorld = 5

    /// Draws how often settings change, with a separate generator, so that the rest of the world does not change.
    mutating func drawReconfigurations(random: inout SplitMix64) {
        guard Int.random(in: 0..<Self.worldsPerChangingWorld, using: &random) == 0 else { return }
        self.reconfigurationPercent = [5, 30].randomElement(using: &random)!
    }
}
