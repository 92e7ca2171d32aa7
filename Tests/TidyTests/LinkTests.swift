import Foundation
import Testing

/// Tests that the targets of links and names in documents exist.
struct LinkTests {
    /// Every Markdown page of the project.
    private static let pages: [ProjectFiles.TextFile] = ProjectFiles.allTextFiles.filter { $0.path.hasSuffix(".md") }

    @Test func everyPageIsLookedAt() {
        let paths = Set(Self.pages.map(\.path))
        let expected = [
            "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "deploy/Operations.md", "Benchmarks/README.md",
            "Tests/SimulationTests/README.md", "Sources/PushEngine/PushEngine.docc/Glossary.md",
            "Sources/mailboat/Mailboat.docc/Events.md",
        ]
        #expect(paths.isSuperset(of: expected))
    }

    /// Links to files and headings of the project must work. Links to other hosts are not tried.
    @Test func everyLinkLeadsSomewhere() {
        var count = 0
        for page in Self.pages {
            let folder = page.path.split(separator: "/").dropLast().joined(separator: "/")
            for (line, target) in Self.links(of: page) where !target.contains("://") && !target.hasPrefix("mailto:") {
                count += 1
                let parts = target.split(separator: "#", maxSplits: 1, omittingEmptySubsequences: false).map(
                    String.init)
                let path = parts[0].isEmpty ? page.path : Self.resolve(parts[0], in: folder)
                let exists = FileManager.default.fileExists(
                    atPath: ProjectFiles.root.appendingPathComponent(path).path)
                #expect(exists, "\(page.path):\(line): there is no \(path)")
                guard parts.count == 2, let file = ProjectFiles.textFile(path) else { continue }
                let hasHeading = Self.anchors(of: file).contains(parts[1])
                #expect(hasHeading, "\(page.path):\(line): \(path) has no heading #\(parts[1])")
            }
        }
        #expect(count > 40, "the test finds what it looks for")
    }

    /// Every file that a page names must exist. A page may name a file by its path from the root, or by its name alone.
    /// It may also give a path below a folder beside the page. Functions and cases in brackets after a file's name must
    /// be in that file.
    @Test(arguments: [
        ("CONTRIBUTING.md", 40), ("Sources/mailboat/Mailboat.docc/Architecture.md", 1),
        ("Sources/PushEngine/PushEngine.docc/PushEngine.md", 10),
        ("Sources/PushEngine/PushEngine.docc/WayOfAnEvent.md", 60),
        ("Sources/PushEngine/PushEngine.docc/WayOfAGoal.md", 100),
        ("Sources/PushEngine/PushEngine.docc/WayOfAnAnswer.md", 60),
        ("Sources/ShardLoop/ShardLoop.docc/ShardLoop.md", 20),
    ])
    func everyFileThatAPageNamesExists(path: String, countMin: Int) throws {
        let page = try #require(ProjectFiles.textFile(path))
        let paths = try Self.pathsOfTheTree()
        var count = 0
        for (number, line) in Self.prose(of: page) {
            let line = line.replacing(#/``[^`]*``/#, with: "")
            for match in line.matches(of: #/`([A-Za-z0-9_.+\/-]+)`(?: \(((?:`\w+`(?:, | and )?)+)[,)])?/#) {
                let name = String(match.1)
                guard Self.looksLikeAPath(name) else { continue }
                count += 1
                let files = paths.filter { $0 == name || $0.hasSuffix("/" + name) }
                #expect(!files.isEmpty, "\(path):\(number): nothing in the tree is called \(name)")
                for symbol in (match.2 ?? "").matches(of: #/\w+/#).map({ String($0.0) }) {
                    let isThere = files.contains {
                        ProjectFiles.textFile($0)?.lines.contains { $0.contains(" \(symbol)") } ?? false
                    }
                    #expect(isThere, "\(path):\(number): \(name) has no \(symbol)")
                }
            }
        }
        #expect(count >= countMin, "the test finds what it looks for")
    }

    /// The table in Architecture has each folder of `Sources`, except the modules of C libraries.
    @Test func architectureHasEachTarget() throws {
        let page = try #require(ProjectFiles.textFile("Sources/mailboat/Mailboat.docc/Architecture.md"))
        let rows = page.lines.compactMap { $0.firstMatch(of: #/^\| `(\w+)` \|/#).map { String($0.output.1) } }
        let paths = try Self.pathsOfTheTree().filter { $0.hasPrefix("Sources/") }
        let folders = Set(paths.map { String($0.split(separator: "/")[1]) })
        let libraries = Set(
            paths.filter { $0.hasSuffix("/module.modulemap") }.map { String($0.split(separator: "/")[1]) })
        #expect(rows.count > 20, "the test finds what it looks for")
        #expect(Set(rows) == folders.subtracting(libraries))
    }

    /// A word in code style that begins with a capital must be a type, a target, a file or a folder. So the glossary
    /// and the articles follow renames in the code.
    @Test(arguments: [
        ("CONTRIBUTING.md", 15), ("Sources/mailboat/Mailboat.docc/Architecture.md", 10),
        ("Sources/PushEngine/PushEngine.docc/Glossary.md", 20),
        ("Sources/PushEngine/PushEngine.docc/PushEngine.md", 60),
        ("Sources/PushEngine/PushEngine.docc/WayOfAnEvent.md", 1),
        ("Sources/PushEngine/PushEngine.docc/WayOfAGoal.md", 3),
        ("Sources/PushEngine/PushEngine.docc/WayOfAnAnswer.md", 2),
        ("Sources/ShardLoop/ShardLoop.docc/ShardLoop.md", 5), ("Sources/APNSPool/APNSPool.docc/APNSPool.md", 5),
    ])
    func everyTypeThatAPageNamesExists(path: String, countMin: Int) throws {
        let page = try #require(ProjectFiles.textFile(path))
        var names = Self.typeNames
        for path in try Self.pathsOfTheTree() {
            let name = path.split(separator: "/").last ?? ""
            names.insert(String(name.split(separator: ".").first ?? name))
        }
        var count = 0
        for (number, line) in Self.prose(of: page) {
            for match in line.matches(of: #/`([A-Z][A-Za-z0-9]*[a-z][A-Za-z0-9]*)`/#) {
                count += 1
                let isThere = names.contains(String(match.1))
                #expect(isThere, "\(path):\(number): there is no \(match.1)")
            }
        }
        #expect(count >= countMin, "the test finds what it looks for")
    }

    /// Names of all types in the sources and the tests.
    private static let typeNames: Set<String> = {
        let keywords: Set<Substring> = ["struct", "enum", "class", "actor", "protocol", "typealias"]
        var names: Set<String> = []
        for line in ProjectFiles.swiftFiles().flatMap(\.lines) {
            let words = line.split(separator: " ")
            guard let index = words.firstIndex(where: keywords.contains), index + 1 < words.count else { continue }
            names.insert(String(words[index + 1].prefix { $0.isLetter || $0.isNumber }))
        }
        return names
    }()

    /// The targets of `[text](target)` outside code, each with its line number.
    private static func links(of page: ProjectFiles.TextFile) -> [(line: Int, target: String)] {
        Self.prose(of: page).flatMap { number, line in
            line.replacing(#/`[^`]*`/#, with: "").matches(of: #/\]\(([^)\s]+)\)/#).map { (number, String($0.1)) }
        }
    }

    /// The anchors of a page's headings, as GitHub makes them: lower case, no punctuation, and a hyphen for each space.
    private static func anchors(of page: ProjectFiles.TextFile) -> Set<String> {
        var anchors: Set<String> = []
        for (_, line) in Self.prose(of: page) {
            guard let heading = line.wholeMatch(of: #/#{1,6} (.*)/#) else { continue }
            let text = heading.1.lowercased().filter {
                $0.isLetter || $0.isNumber || $0 == " " || $0 == "-" || $0 == "_"
            }
            let anchor = text.replacing(" ", with: "-")
            var unique = anchor
            var repeats = 0
            while !anchors.insert(unique).inserted {
                repeats += 1
                unique = "\(anchor)-\(repeats)"
            }
        }
        return anchors
    }

    /// Lines outside fenced blocks, numbered from 1.
    private static func prose(of page: ProjectFiles.TextFile) -> [(number: Int, line: String)] {
        var isCode = false
        return page.lines.enumerated().compactMap { index, line in
            if line.trimmingCharacters(in: .whitespaces).hasPrefix("```") {
                isCode.toggle()
                return nil
            }
            return isCode ? nil : (index + 1, line)
        }
    }

    private static func resolve(_ target: String, in folder: String) -> String {
        var parts = folder.split(separator: "/").map(String.init)
        for part in target.split(separator: "/") where part != "." {
            if part == ".." { _ = parts.popLast() } else { parts.append(String(part)) }
        }
        return parts.joined(separator: "/")
    }

    /// Whether a name looks like a path. It has the extension of a file in this project, or a slash between names.
    private static func looksLikeAPath(_ name: String) -> Bool {
        let endings = [".swift", ".md", ".yaml", ".json", ".py", ".sh"]
        if name.contains("//") || name.hasPrefix("/") || name.hasPrefix(".") && !name.hasPrefix(".ci/") { return false }
        return endings.contains { name.hasSuffix($0) && name != $0 } || name.contains("/")
    }

    /// Paths of the project's files and folders in the working copy.
    private static func pathsOfTheTree() throws -> Set<String> {
        let all = try #require(FileManager.default.enumerator(atPath: ProjectFiles.root.path))
        var paths: Set<String> = []
        for case let path as String in all {
            if path.hasPrefix(".build") || path == ".git" { all.skipDescendants() } else { paths.insert(path) }
        }
        return paths
    }
}
