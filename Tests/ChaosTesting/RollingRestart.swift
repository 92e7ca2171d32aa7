import ChildProcesses
import Foundation
import PushModel

/// Restarts one worker after the other in good order, as a deployment does. It measures how long activities of a
/// restarted worker wait for a push. Only the task of the run uses it.
final class RollingRestart {
    /// Times for the partitions of one stopped worker. Times are milliseconds since 1970.
    private struct Gap {
        var toldMillis: Int64
        var endedMillis: Int64?
        /// When a successor got each partition.
        var assignedMillis: [Int32: Int64] = [:]
        /// When the first push by a successor to an activity of each partition reached a phone.
        var pushedMillis: [Int32: Int64] = [:]
    }

    private enum Phase {
        case waiting(untilMillis: Int64)
        case stopping
        case starting
        case done
    }

    private let stage: ChaosStage
    private var phase: Phase
    private var index = 0
    private var gaps: [Gap] = []
    private var tails: [LogTail]

    /// Time between two restarts, in which the group settles.
    private static let pauseMillis: Int64 = 15_000

    init(stage: ChaosStage, nowMillis: Int64) {
        self.stage = stage
        self.phase = .waiting(untilMillis: nowMillis + 10_000)
        self.tails = stage.workers.map { LogTail(path: $0.logPath) }
    }

    /// Whether every worker was restarted.
    var isDone: Bool { if case .done = self.phase { true } else { false } }

    func advance(nowMillis: Int64) async throws {
        self.readLogs(nowMillis)
        let worker = self.stage.workers[self.index]
        switch self.phase {
        case .waiting(let untilMillis):
            guard nowMillis >= untilMillis else { return }
            guard self.index < self.stage.workers.count else { return }
            worker.stop()
            self.gaps.append(Gap(toldMillis: nowMillis))
            self.phase = .stopping
        case .stopping:
            guard worker.process?.isRunning != true else { return }
            self.gaps[self.gaps.count - 1].endedMillis = nowMillis
            try self.stage.start(worker)
            self.phase = .starting
        case .starting:
            guard try await worker.isReady() else { return }
            self.index += 1
            if self.index == self.stage.workers.count {
                self.index -= 1
                self.phase = .done
            } else {
                self.phase = .waiting(untilMillis: nowMillis + Self.pauseMillis)
            }
        case .done: return
        }
    }

    /// Takes a push that reached a phone.
    func pushed(activity: String, atMillis: Int64) {
        guard !self.gaps.isEmpty else { return }
        let key = Array(activity.utf8)
        let partition = Murmur2.partition(key: key.span, count: ChaosStage.partitionCount)
        let last = self.gaps.count - 1
        guard let assigned = self.gaps[last].assignedMillis[partition], atMillis >= assigned,
            self.gaps[last].pushedMillis[partition] == nil
        else { return }
        self.gaps[last].pushedMillis[partition] = atMillis
    }

    /// Reads from the workers' logs which partitions successors got. A successor is another worker, or the new process
    /// of the worker that ended.
    private func readLogs(_ nowMillis: Int64) {
        for (number, worker) in self.stage.workers.enumerated() {
            for line in self.tails[number].lines() where line.hasSuffix("[PushWorker] partitions assigned") {
                guard let gap = self.gaps.last, worker !== self.stage.workers[self.index] || gap.endedMillis != nil,
                    let list = line.split(separator: " ").first(where: { $0.hasPrefix("partitions=") })
                else { continue }
                for text in list.dropFirst("partitions=".count).split(separator: ",") {
                    guard let partition = Int32(text) else { continue }
                    let last = self.gaps.count - 1
                    if self.gaps[last].assignedMillis[partition] == nil {
                        self.gaps[last].assignedMillis[partition] = nowMillis
                    }
                }
            }
        }
    }

    // MARK: Results

    /// Lines about the restarts for the result table of a run.
    var lines: [String] {
        var (stopping, starting, own, total): ([Int64], [Int64], [Int64], [Int64]) = ([], [], [], [])
        for gap in self.gaps {
            for (partition, pushed) in gap.pushedMillis {
                guard let assigned = gap.assignedMillis[partition], let ended = gap.endedMillis, assigned >= ended
                else {
                    continue
                }
                stopping.append(ended - gap.toldMillis)
                starting.append(pushed - assigned)
                own.append(ended - gap.toldMillis + pushed - assigned)
                total.append(pushed - gap.toldMillis)
            }
        }
        guard !own.isEmpty else { return ["rolling restart     no partition moved"] }
        return [
            "rolling restart     \(self.gaps.count) workers, \(own.count) partitions moved, from SIGTERM to the successor's first push:",
            "  total             median \(Self.median(total)) ms, longest \(total.max() ?? 0) ms",
            "  the product's own median \(Self.median(own)) ms, longest \(own.max() ?? 0) ms "
                + "(without the broker's join window)",
            "    until it ended  median \(Self.median(stopping)) ms, longest \(stopping.max() ?? 0) ms (from SIGTERM: answers, state, commit, leaving)",
            "    to first push   median \(Self.median(starting)) ms, longest \(starting.max() ?? 0) ms (from the assignment: restore, and until there is an event)",
        ]
    }

    private static func median(_ numbers: [Int64]) -> Int64 { numbers.sorted()[numbers.count / 2] }
}

/// Follows a file line by line.
struct LogTail {
    private let path: String
    private var offset: UInt64 = 0
    private var rest = ""

    init(path: String) { self.path = path }

    /// Complete lines since the last call.
    mutating func lines() -> [String] {
        guard let file = FileHandle(forReadingAtPath: self.path) else { return [] }
        defer { try? file.close() }
        guard (try? file.seek(toOffset: self.offset)) != nil, let data = try? file.readToEnd(), !data.isEmpty else {
            return []
        }
        self.offset += UInt64(data.count)
        var lines = (self.rest + String(decoding: data, as: UTF8.self)).split(
            separator: "\n", omittingEmptySubsequences: false)
        self.rest = String(lines.removeLast())
        return lines.map(String.init)
    }
}
