/// Plots of memory, files and latency over the time of a soak.
struct SoakPlots {
    let samples: [SoakSample]

    init(_ samples: [SoakSample]) { self.samples = samples }

    /// Writes `soak-memory.svg`, `soak-files.svg` and `soak-latency.svg`.
    func write(to directory: String) throws {
        try self.plot("Resident memory of a worker", "MB", [("resident", { Double($0.residentByteCount) / 1e6 })])
            .write(to: directory + "/soak-memory.svg")
        try self.plot("Open files of a worker", "files", [("open files", { Double($0.openFileCount) })])
            .write(to: directory + "/soak-files.svg")
        // The warm-up is left out. Its long latencies, while connections open, would make the rest too small to see.
        try SoakPlots(SoakFlatness.judged(self.samples)).plot(
            "From Kafka to APNs' acceptance, single activities", "ms", [("p50", \.p50Millis), ("p99", \.p99Millis)]
        ).write(to: directory + "/soak-latency.svg")
    }

    private func plot(_ title: String, _ yTitle: String, _ lines: [(String, (SoakSample) -> Double)]) -> LinePlot {
        var plot = LinePlot(title: title, xTitle: "time, minutes", yTitle: yTitle)
        for (name, value) in lines { plot.add(name, self.samples.map { ($0.minutes, value($0)) }) }
        return plot
    }
}
