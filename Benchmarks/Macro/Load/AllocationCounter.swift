import Foundation
import LocalFiles

/// Counts the heap allocations of a process. A library is preloaded into the process, and its counts are read from
/// outside.
struct AllocationCounter {
    /// Environment of the process whose allocations are counted.
    let environment: [String: String]
    let countsPath: String

    /// Compiles the library.
    /// - Throws: when there is no C compiler, or it refuses the source.
    init(_ bench: Bench) throws {
        let library = try PreloadedLibrary.path("allocation-counter", bench)
        self.countsPath = bench.scratch + "/allocations-\(UUID().uuidString)"
        self.environment = ["LD_PRELOAD": library, AllocationCounts.variable: self.countsPath]
    }

    var counts: AllocationCounts { AllocationCounts(path: self.countsPath) }
}

/// Number of allocations so far, by who made them.
struct AllocationCounts: Equatable {
    static let variable = "MAILBOAT_BENCH_ALLOCATIONS"

    /// Allocations of Swift's runtime and libraries, and of the program itself with its wrappers.
    var swift = 0
    var nghttp2 = 0
    var openSSL = 0
    var librdkafka = 0
    var other = 0

    init() {}

    /// Reads the counts. All are zero when there is no such file.
    init(path: String) {
        guard let data = try? InputFile.read(path), data.count >= 5 * 8 else { return }
        // The order is that of `enum group` in allocation-counter.c.
        let counts = data.withUnsafeBytes { bytes in
            (0..<5).map { Int(bytes.loadUnaligned(fromByteOffset: $0 * 8, as: Int64.self)) }
        }
        self.swift = counts[0]
        self.nghttp2 = counts[1]
        self.openSSL = counts[2]
        self.librdkafka = counts[3]
        self.other = counts[4]
    }

    var libraries: Int { self.nghttp2 + self.openSSL + self.librdkafka + self.other }

    static func - (left: AllocationCounts, right: AllocationCounts) -> AllocationCounts {
        var result = AllocationCounts()
        result.swift = left.swift - right.swift
        result.nghttp2 = left.nghttp2 - right.nghttp2
        result.openSSL = left.openSSL - right.openSSL
        result.librdkafka = left.librdkafka - right.librdkafka
        result.other = left.other - right.other
        return result
    }
}
