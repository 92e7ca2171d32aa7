import Foundation
import Testing

/// Tests that the glossary has each word once. They also check that words which the glossary limits to some folders
/// occur in names only there.
struct GlossaryTests {
    private static let path = "Sources/PushEngine/PushEngine.docc/Glossary.md"
    private static let heading = "### Words with one meaning"

    /// A word that names may contain only in some folders.
    struct Word: CustomStringConvertible {
        var text: String
        /// Folders below `Sources` in which names may contain the word.
        var folders: [String]
        var description: String { self.text }

        /// The forms of the word that may occur in a name.
        var forms: Set<String> {
            self.text == "told" ? ["tell", "tells", "telling", "told", "untold"] : [self.text, self.text + "s"]
        }
        func mayStand(in path: String) -> Bool { self.folders.contains { path.hasPrefix("Sources/\($0)/") } }
    }

    /// The rows of the glossary's tables, either before the heading "Words with one meaning" or after it.
    private static func rows(afterHeading: Bool) throws -> [[String]] {
        let lines = try #require(ProjectFiles.textFile(Self.path)).lines
        let split = try #require(lines.firstIndex(of: Self.heading))
        return (afterHeading ? lines[split...] : lines[..<split]).compactMap { line in
            guard line.hasPrefix("| "), !line.hasPrefix("| word |") else { return nil }
            return line.dropFirst(2).components(separatedBy: " | ")
        }
    }

    private static let keywords: Set<Substring> = [
        "func", "var", "let", "case", "struct", "enum", "class", "protocol", "typealias", "actor",
    ]
    private static let openings = Self.keywords.map { "\($0) " }

    /// The names that a line declares. Each follows a keyword and a space.
    private static func names(in line: String) -> [Substring] {
        guard Self.openings.contains(where: line.has) else { return [] }
        let words = line.split { !($0.isLetter || $0.isNumber || $0 == "_") }
        return zip(words, words.dropFirst()).filter { keyword, name in
            Self.keywords.contains(keyword) && line[keyword.endIndex..<name.startIndex] == " "
        }.map(\.1)
    }

    /// The words of a name, in lower case.
    static func words(of name: Substring) -> Set<String> {
        Set(name.matches(of: #/[A-Z]?[a-z]+|[A-Z]+(?![a-z])/#).map { $0.output.lowercased() })
    }

    @Test func eachWordStandsOnce() throws {
        let words = try Self.rows(afterHeading: false).flatMap { $0[0].components(separatedBy: ", ") }
        #expect(words.count > 60, "the test finds what it looks for")
        #expect(Set(words).count == words.count)
    }

    @Test func namesKeepToTheWords() throws {
        let words = try Self.rows(afterHeading: true).map { row in
            Word(text: row[0], folders: row[2].matches(of: #/`([^`]+)`/#).map { String($0.output.1) })
        }
        #expect(words.count >= 5 && words.allSatisfy { !$0.folders.isEmpty })
        var count = 0
        for file in ProjectFiles.swiftFiles(in: ["Sources"]) {
            let kept = words.filter { !$0.mayStand(in: file.path) }.map { (word: $0, forms: $0.forms) }
            for (index, line) in file.lines.enumerated() where !line.drop(while: { $0 == " " }).hasPrefix("//") {
                for name in Self.names(in: line) {
                    count += 1
                    let lowercased = name.lowercased()
                    for (word, forms) in kept where forms.contains(where: lowercased.has) {
                        guard !forms.isDisjoint(with: Self.words(of: name)) else { continue }
                        Issue.record("\(file.path):\(index + 1): \(name) has the word “\(word)”")
                    }
                }
            }
        }
        #expect(count > 10_000, "the test finds what it looks for")
    }

    @Test(
        arguments: [
            ("nextTurn", ["next", "turn"]), ("APNSTopicAnswer", ["apns", "topic", "answer"]),
            ("isLate", ["is", "late"]),
            ("placementOf", ["placement", "of"]),
        ] as [(String, Set<String>)])
    func aNameHasItsWords(name: String, words: Set<String>) { #expect(Self.words(of: name[...]) == words) }
}
