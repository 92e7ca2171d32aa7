import Foundation

/// Everything a run of the benchmark found out.
struct Results: Codable, Equatable {
    var machine: Machine
    var rows: [ResultRow] = []

    func write(to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        do {
            try (try encoder.encode(self) + Data("\n".utf8)).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw BenchmarkFailure("\(path): cannot be written (\(error.localizedDescription))")
        }
    }

    static func read(from path: String) throws -> Results {
        do {
            return try JSONDecoder().decode(Self.self, from: try Data(contentsOf: URL(fileURLWithPath: path)))
        } catch {
            throw BenchmarkFailure("\(path): not the results of a benchmark (\(error))")
        }
    }
}
