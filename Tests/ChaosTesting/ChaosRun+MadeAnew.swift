import ChildProcesses
import CommandSupport
import Foundation
import KafkaLog
import PushModel
import PushWorker
import Upstream

/// The last act, after everything else has been judged: a topic is deleted and made anew under running workers.
///
/// That loses data, so the act has its own verdict. The partitions must halt and be named by `/readyz`, and nothing
/// more may be pushed or committed for them. The documented way out must work.
extension ChaosRun {
    /// Result of the act.
    struct Act {
        var faults: [String] = []
        var remarks: [String] = []
    }

    /// How long the topic stays deleted. Clients have seen the deletion by then.
    private static let goneDuration = Duration.seconds(5)
    private static let haltDurationMax = Duration.seconds(120)
    /// How long the run watches whether halted partitions stay still.
    private static let stillDuration = Duration.seconds(10)
    private static let commandDurationMax = Duration.seconds(90)
    /// Time limit for the pushes after the documented repair. All of the log may have to be read again.
    private static let onDurationMax = Duration.seconds(300)
    private static let activityCountMax = 20

    /// Plays the act.
    /// - Parameter isTried: whether everything else was right, so that the act is worth trying.
    func makeAnew(isTried: Bool) async throws -> Act {
        guard self.wish.kinds.contains(.topicMadeAnew), !self.stage.kafkaIsEmbedded else { return Act() }
        guard isTried else { return Act(remarks: ["topic made anew     not tried, as something was wrong before"]) }
        let role: TopicRole = self.wish.seed % 2 == 0 ? .events : .state
        self.say("Making \(self.stage.name(of: role)) anew under running workers …")
        var act = Act()
        do {
            self.injector.count(.topicMadeAnew)
            let tracks = self.tracks
            guard !tracks.isEmpty else { throw CommandFailure("no activity is under way that could be followed") }
            let halted = try await self.haltByMaking(role, tracks)
            try await self.staysStill(tracks.filter { halted.contains($0.partition) }, halted)
            try await self.takeWayOut(role, tracks)
            act.remarks.append(
                "topic made anew     \(self.stage.name(of: role)): \(halted.count) partitions halted and were named; "
                    + "\(tracks.count) activities went on after the way out")
        } catch let failure as CommandFailure {
            act.faults.append("\(self.stage.name(of: role)) made anew: \(failure)")
        }
        return act
    }

    /// An activity that is followed through the act.
    private struct Track {
        var publication: Publication
        /// The activity's partition, by the original partition count.
        var partition: Int32
    }

    /// Plain activities under way, at most `activityCountMax` of them.
    private var tracks: [Track] {
        var newest: [String: Publication] = [:]
        var apps: Set<String> = []
        for publication in self.publications where publication.activity.hasPrefix("plain-") {
            if publication.token != nil { apps.insert(publication.activity) }
            if publication.event != nil { newest[publication.activity] = publication }
        }
        let open = newest.values.filter { $0.event?.kind == .update && apps.contains($0.activity) }
        return open.sorted { $0.activity < $1.activity }.prefix(Self.activityCountMax).map {
            Track(
                publication: $0,
                partition: Murmur2.partition(key: Array($0.activity.utf8).span, count: ChaosStage.partitionCount))
        }
    }

    // MARK: The three scenes

    /// Makes the topic anew, and waits until partitions halt.
    /// - Returns: partitions that have halted. They include all partitions that had to halt.
    private func haltByMaking(_ role: TopicRole, _ tracks: [Track]) async throws -> Set<Int32> {
        let events = self.stage.topics.events[0]
        let read = try await ChaosReading.positions(self.stage).filter {
            $0.topicPartition.topic == events && ($0.committed ?? 0) > 0
                && $0.topicPartition.partition < ChaosStage.partitionCount
        }
        try await self.stage.delete(role)
        // No event says when the last client has seen the deletion.
        try await Task.sleep(for: Self.goneDuration)
        try await self.stage.create(role)
        let (expected, words): (Set<Int32>, [String])
        if role == .events {
            (expected, words) = (
                Set(read.map(\.topicPartition.partition)), ["is another one", "outside the log"]
            )
        } else {
            // A running worker notices the loss when it writes.
            (expected, words) = (Set(tracks.map(\.partition)), ["has lost records"])
            try await self.publishUpdates(tracks, "halts")
        }
        var halted: Set<Int32> = []
        try await self.wait(Self.haltDurationMax) {
            halted = []
            for worker in self.stage.workers {
                let readiness = try await worker.readiness() ?? ""
                for reason in words { halted.formUnion(PartitionHalt.named(in: readiness, because: reason)) }
            }
            let missing = expected.subtracting(halted)
            return missing.isEmpty
                ? nil
                : "\(missing.count) of \(expected.count) partitions to halt and be named, such as \(missing.sorted()[0])"
        }
        return halted
    }

    /// Judges that nothing is pushed or committed for halted partitions, although new events are published for them.
    private func staysStill(_ tracks: [Track], _ halted: Set<Int32>) async throws {
        // Requests that were on their way when the partitions halted arrive within this time.
        try await Task.sleep(for: .seconds(2))
        let before = try await self.committed(halted)
        try await self.follow { _ in }
        try await self.publishUpdates(tracks, "still")
        var pushed: Set<String> = []
        let until = ContinuousClock.now + Self.stillDuration
        while ContinuousClock.now < until {
            try await self.follow { pushed.insert($0) }
            // A push that does not come can only be noticed by waiting.
            try await Task.sleep(for: .milliseconds(200))
        }
        if let activity = tracks.map(\.publication.activity).first(where: { pushed.contains($0) }) {
            throw CommandFailure("\(activity) was pushed to, and its partition is halted")
        }
        for (partition, offset) in try await self.committed(halted) where before[partition] != offset {
            throw CommandFailure("\(offset) was committed for partition \(partition), which is halted")
        }
    }

    /// Follows the documented way out: `deploy/Operations.md`, "A topic made anew" and "State is lost".
    private func takeWayOut(_ role: TopicRole, _ tracks: [Track]) async throws {
        for worker in self.stage.workers {
            worker.stop()
        }
        try await self.wait(Self.commandDurationMax) {
            self.stage.workers.contains { $0.process?.isRunning == true } ? "workers to end" : nil
        }
        let reset = ["offsets", "reset", "--to", "earliest", "--execute"]
        if role == .events {
            try await self.command(reset)
        } else {
            try await self.command(["state", "accept-empty", "--execute"])
            try await self.command(reset + ["--topic", self.stage.topics.events[0], "--all"])
        }
        for worker in self.stage.workers { try self.stage.start(worker) }
        try await self.wait(Self.commandDurationMax) {
            for worker in self.stage.workers where try await !worker.isReady() {
                return "\(worker.name) to be ready: \(try await worker.readiness() ?? "it does not answer")"
            }
            return nil
        }
        try await self.publishUpdates(tracks, "on")
        var missing = Set(tracks.map(\.publication.activity))
        try await self.wait(Self.onDurationMax) {
            try await self.follow { missing.remove($0) }
            if let activity = missing.first { return "\(activity) and \(missing.count - 1) more to be pushed to" }
            let behind = try await ChaosReading.positions(self.stage).filter {
                $0.endOffset > 0 && $0.committed != $0.endOffset
            }
            return behind.first.map { "the group to commit \($0.topicPartition) and \(behind.count - 1) more" }
        }
    }

    // MARK: Helpers

    /// Publishes one more update for each activity. The content of each update contains `word`.
    private func publishUpdates(_ tracks: [Track], _ word: String) async throws {
        let stage = self.stage
        let settings = stage.kafkaSettings.appending("compression.codec", "lz4")
        // The act needs its own publisher. The run's publisher may still know the deleted topic.
        let publisher = try StoryPublisher(
            settings: settings, topic: stage.topics.events[0], partitionCount: ChaosStage.partitionCount,
            log: { _ in })
        for track in tracks {
            guard let app = track.publication.event?.app else { continue }
            let content = "{\"made-anew\":\"\(word)\",\"of\":\"\(track.publication.activity)\"}"
            let event = StoryEvent(.update, app: app, contentState: content, priority: 10)
            try publisher.publish(
                Publication(track.publication.activity, event),
                recordMillis: Int64(Date().timeIntervalSince1970 * 1_000))
        }
        try await self.wait(Self.commandDurationMax) {
            try publisher.drain()
            return publisher.isDelivered ? nil : "Kafka to take \(tracks.count) events"
        }
    }

    /// Offsets of the group in these partitions of `events`. Partitions without an offset are left out.
    private func committed(_ partitions: Set<Int32>) async throws -> [Int32: Int64] {
        let positions = try await ChaosReading.positions(self.stage).filter {
            $0.topicPartition.topic == self.stage.topics.events[0]
                && partitions.contains($0.topicPartition.partition)
        }
        return positions.reduce(into: [:]) { $0[$1.topicPartition.partition] = $1.committed }
    }

    /// Runs a command of `mailboat` again and again until it succeeds. At first it may fail, because a static member
    /// stays in the group until its session is over.
    private func command(_ arguments: [String]) async throws {
        let worker = self.stage.workers[0]
        try await self.wait(Self.commandDurationMax) {
            let ended = try await EndedProcess.run(
                worker.executable, arguments + ["--config", worker.configurationPath])
            let command = arguments.joined(separator: " ")
            return ended.status == 0
                ? nil : "'mailboat \(command)' to succeed; it ended with \(ended.status): \(ended.errors)"
        }
    }

    /// Calls `onPush` for each push to an activity since the last call.
    private func follow(_ onPush: (_ activity: String) -> Void) async throws {
        try self.phones.follow { activity, _, _ in onPush(activity) }
    }

    /// Waits until nothing is missing.
    /// - Parameter missing: what is still awaited, in words, or `nil` when nothing is.
    private func wait(_ limit: Duration, until missing: () async throws -> String?) async throws {
        let deadline = ContinuousClock.now + limit
        while let awaited = try await missing() {
            try StandardOutput.check()
            guard ContinuousClock.now < deadline else {
                throw CommandFailure("waited \(limit.components.seconds) s in vain for \(awaited)")
            }
            // The state of other processes has to be polled.
            try await Task.sleep(for: .milliseconds(300))
        }
    }
}
