import Foundation
import LocalFiles

/// All results of a run of the benchmark.
struct Results: Codable, Equatable {
    var machine: Machine
    var rows: [ResultRow] = []

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        try OutputFile.write(Array(try encoder.encode(self) + Data("\n".utf8)), to: path)
    }

    static func read(from path: String) throws -> Results {
        do {
            return try JSONDecoder().decode(Self.self, from: try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw BenchmarkFailure("\(path): not the results of a benchmark (\(error))")
        }
    }
}
