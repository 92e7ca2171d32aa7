import Benchmark
import PushEngine
import PushModel

/// The engine's parts, through the calls the worker makes.
enum EngineBenchmarks {
    static func define() {
        Benchmark("merge: event into a pending update") { benchmark in
            var shard = BenchmarkShard(activities: 1_000)
            for activity in 0..<1_000 { shard.update(activity) }
            benchmark.startMeasurement()
            for activity in benchmark.scaledIterations { shard.update(activity % 1_000) }
        }
        for (name, priority) in [("high priority, counted against the budget", "10"), ("low priority", "5")] {
            Benchmark("ready queue and budget: next push, \(name)") { benchmark in
                let count = benchmark.scaledIterations.count
                var shard = BenchmarkShard(activities: count)
                for activity in 0..<count { shard.update(activity, priority: priority) }
                shard.wait(millis: 2_000)
                benchmark.startMeasurement()
                while shard.send() {}
                benchmark.stopMeasurement()
                precondition(shard.sentCount == count, "\(shard.sentCount) of \(count) pushes were ready")
            }
        }
        Benchmark("ledger: answer, outcome, state record, commit") { benchmark in
            let count = benchmark.scaledIterations.count
            var shard = BenchmarkShard(activities: count)
            for activity in 0..<count { shard.update(activity) }
            while shard.send() {}
            benchmark.startMeasurement()
            shard.answerAll()
            shard.wait(millis: 100)
            shard.acknowledge()
            blackHole(shard.takeCommits())
        }
        Benchmark("whole push: event, merge, push, answer, records, commit") { benchmark in
            let count = benchmark.scaledIterations.count
            var shard = BenchmarkShard(activities: count)
            benchmark.startMeasurement()
            for activity in 0..<count { shard.update(activity) }
            while shard.send() {}
            shard.answerAll()
            shard.wait(millis: 100)
            shard.acknowledge()
            blackHole(shard.takeCommits())
        }
    }
}
