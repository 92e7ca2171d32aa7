import Foundation
import Testing

/// The files of this project in the working copy.
enum ProjectFiles {
    /// The package's directory.
    static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// A file of the project: its path from the root, and its lines.
    struct TextFile: Sendable, CustomTestStringConvertible {
        var path: String
        var lines: [String]
        var testDescription: String { self.path }

        /// The lines that contain one of `words`, with their indices. Tests look closer only at these lines.
        func lines(with words: String...) -> [(index: Int, line: String)] {
            self.lines.enumerated().filter { line in words.contains { line.element.has($0) } }.map { ($0, $1) }
        }
    }

    /// Swift files below `folders`.
    static func swiftFiles(in folders: [String] = ["Sources", "Tests", "Benchmarks"]) -> [TextFile] {
        folders.flatMap { folder in Self.swiftFiles.filter { $0.path.hasPrefix("\(folder)/") } }
    }
    private static let swiftFiles = Self.allTextFiles.filter { $0.path.hasSuffix(".swift") }

    /// All files that a reader may open: sources, scripts, documents and deployment files. Each is read once.
    static let allTextFiles: [TextFile] = {
        let folders = ["Sources", "Tests", "Benchmarks", "deploy", ".ci", ".github"]
        let endings = [
            ".swift", ".md", ".sh", ".yaml", ".yml", ".h", ".modulemap", ".py", "Dockerfile", "run", "check-docs",
        ]
        let atTheTop = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "Makefile", "Package.swift"].compactMap {
            Self.textFile($0)
        }
        return atTheTop
            + folders.flatMap { folder in Self.textFiles(in: folder) { path in endings.contains { path.hasSuffix($0) } }
            }
    }()

    /// The file with this path, or `nil` if there is none.
    static func textFile(_ path: String) -> TextFile? {
        guard let text = try? String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8) else {
            return nil
        }
        return TextFile(path: path, lines: text.components(separatedBy: "\n"))
    }

    private static func textFiles(in folder: String, where isWanted: (String) -> Bool) -> [TextFile] {
        let top = Self.root.appendingPathComponent(folder)
        guard let paths = FileManager.default.enumerator(atPath: top.path) else { return [] }
        return paths.compactMap { $0 as? String }.filter(isWanted).sorted().compactMap {
            Self.textFile("\(folder)/\($0)")
        }
    }
}

extension String {
    /// Whether the text contains `word`. In a debug build this is many times faster than `contains`.
    func has(_ word: String) -> Bool { strstr(self, word) != nil }
}
