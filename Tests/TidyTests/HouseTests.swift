import Foundation
import Testing

/// Tests that the counts of `house.py` do not exceed their ceilings in `house.json`. The counts show how far the engine
/// is from separate state machines.
struct HouseTests {
    private static let script = ProjectFiles.root.appendingPathComponent("Tests/TidyTests/house.py")
    private static let hasPython = (try? Self.run(["python3", "--version"]).status) == 0

    private static func run(_ words: [String]) throws -> (status: Int32, said: String) {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = words
        let output = Pipe()
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        process.waitUntilExit()
        return (process.terminationStatus, String(decoding: said, as: UTF8.self))
    }

    @Test(.enabled(if: Self.hasPython)) func noCountGrows() throws {
        let (status, said) = try Self.run(["python3", Self.script.path, "--check"])
        #expect(status == 0, "over a ceiling, or in a file that had none of it:\n\(said)")
    }

    /// `house.py` finds code outside a crowd that changes the crowd's fields: by an assignment, by `&`, or by a call.
    @Test(.enabled(if: Self.hasPython)) func everyWriteIsFound() throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(
            "house-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: root) }
        let engine = root.appendingPathComponent("Sources/PushEngine")
        try FileManager.default.createDirectory(at: engine, withIntermediateDirectories: true)
        let files = [
            "Crowd.swift": """
            struct Crowd {
                var life = 0
                var isPaused = false
                var versions: [Int] = []
                var records = Records()
                mutating func begin() { self.life = 1 }
            }
            struct Records { mutating func met() {} }
            """,
            "ShardEngine.swift": """
            struct ShardEngine {
                mutating func write(_ crowd: CrowdID) {
                    self.fanOut.crowds[crowd].life = 1
                    self.fanOut.crowds[self.home(of: [crowd])].life += 1
                    self.fanOut.crowds[crowd].versions.append(3)
                    self.fanOut.crowds[crowd].records.met()
                    self.change(&self.fanOut.crowds[crowd].versions)
                    self.fanOut.crowds[crowd].records.progress = 4
                }
                mutating func read(_ crowd: CrowdID) {
                    self.fanOut.crowds[crowd].begin()
                    if self.fanOut.crowds[crowd].life == 1 { return }
                    // self.fanOut.crowds[crowd].life = 2
                    _ = self.fanOut.crowds[crowd].versions.count
                }
            }
            """,
        ]
        for (name, text) in files {
            try text.write(to: engine.appendingPathComponent(name), atomically: true, encoding: .utf8)
        }
        let (_, said) = try Self.run(["python3", Self.script.path, "--places", root.path])
        let lines = said.components(separatedBy: "\n")
        let row = try #require(
            lines.firstIndex { $0.hasSuffix("writes of Crowd's state by files of other types") })
        let places = lines[(row + 1)...].prefix { $0.hasPrefix("            ") }.map {
            $0.trimmingCharacters(in: .whitespaces)
        }
        // Some parts of a crowd own state. A call to such a part counts as a call to the crowd.
        #expect(places == [3, 4, 5, 7, 8].map { "Sources/PushEngine/ShardEngine.swift:\($0)" })
        #expect(
            lines.contains {
                $0.hasPrefix("     8 ")
                    && $0.hasSuffix("accesses to a crowd's stored fields from outside fan-out's folder")
            })
    }
}
