import Foundation
import Glibc

/// Counts the allocations of this process's steps, if `allocation-counter` was preloaded into it. Reading the counts
/// allocates nothing.
struct AllocationMeter {
    /// Number of operations in a step, and number of all heap allocations of the process during the step.
    struct Step: Codable {
        var operations = 0
        var allocations = 0
    }

    private(set) var steps: [CountedOperation: Step] = [:]
    /// Whether steps are counted.
    var isOn = false
    private let counts: UnsafePointer<Int64>?

    /// Number of groups in allocation-counter.c.
    private static let groupCount = 5

    init() {
        guard let path = ProcessInfo.processInfo.environment[AllocationCounts.variable] else {
            self.counts = nil
            return
        }
        let file = open(path, O_RDONLY)
        defer { close(file) }
        let byteCount = Self.groupCount * MemoryLayout<Int64>.size
        let mapped = file < 0 ? MAP_FAILED : mmap(nil, byteCount, PROT_READ, MAP_SHARED, file, 0)
        self.counts = mapped == MAP_FAILED ? nil : mapped.map { UnsafePointer($0.assumingMemoryBound(to: Int64.self)) }
        for operation in CountedOperation.allCases { self.steps[operation] = Step() }
    }

    /// Runs a step, and adds its operations and allocations to the counts of its kind of operation.
    /// - Parameters:
    ///   - operations: the number of operations in the step.
    ///   - step: does the operations, and returns their kind.
    mutating func count(_ operations: Int, _ step: () -> CountedOperation) {
        let before = self.total
        let operation = step()
        let after = self.total
        guard self.isOn else { return }
        self.steps[operation, default: Step()].operations += operations
        self.steps[operation, default: Step()].allocations += Int(after - before)
    }

    private var total: Int64 {
        guard let counts = self.counts else { return 0 }
        return (0..<Self.groupCount).reduce(0) { $0 + counts[$1] }
    }
}
