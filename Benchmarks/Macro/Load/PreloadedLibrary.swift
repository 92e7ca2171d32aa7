import Foundation

/// A library of `Benchmarks/Preloaded`, compiled when it is first needed.
enum PreloadedLibrary {
    /// Path of the compiled library.
    /// - Throws: when there is no C compiler, or it refuses the source.
    static func path(_ name: String, _ bench: Bench) throws -> String {
        let library = "\(bench.scratch)/\(name).so"
        if !FileManager.default.fileExists(atPath: library) {
            let compiler = try ChildProcess(
                "cc", ["cc", "-O2", "-shared", "-fPIC", "\(bench.preloadedSources)/\(name).c", "-o", library],
                core: nil, logPath: bench.logPath("cc"))
            try compiler.waitForEnd(limitSeconds: 60)
        }
        return library
    }

    /// Environment of a process that touches `mebibytes` of its heap at its start. Later uses of these pages are
    /// cheaper.
    static func touchedHeap(mebibytes: Int, _ bench: Bench) throws -> [String: String] {
        ["LD_PRELOAD": try self.path("touched-heap", bench), "MAILBOAT_BENCH_HEAP_MIB": "\(mebibytes)"]
    }
}
