import Foundation
import Testing

/// Tests that comments can be understood at the first reading. A block stands alone, begins with what the thing is or
/// does, and uses common words.
///
/// A test can check only a small part of that. Each rule has a ceiling of places that still break it. The ceiling only
/// shrinks.
struct EnglishTests {
    /// A pattern that a rule forbids, and the number of places that still have it.
    struct Rule: Sendable, CustomTestStringConvertible {
        var name: String
        var ceiling: Int
        var breaks: @Sendable (CommentBlock) -> Bool
        var testDescription: String { self.name }
    }

    /// Maximum number of words in a sentence. Longer sentences have to be read twice.
    static let sentenceWordsMax = 25

    static let rules = [
        Rule(name: "begins with a word that continues its neighbour", ceiling: 0) { block in
            Self.continuing.contains { block.text.hasPrefix($0 + " ") || block.text.hasPrefix($0 + ",") }
        },
        Rule(name: "uses a rare word where there is a common one", ceiling: 0) { block in
            block.text.range(of: Self.rare, options: [.regularExpression, .caseInsensitive]) != nil
        },
        Rule(name: "has a sentence of more than \(Self.sentenceWordsMax) words", ceiling: 4) { block in
            block.sentences.contains { $0.count > Self.sentenceWordsMax }
        },
    ]

    /// First words of a block that needs the block above to be understood.
    private static let continuing = [
        "Of", "The same", "So is", "So are", "So does", "And", "But", "Or", "Nor", "Beside", "Besides", "Whoever",
        "As those", "As that", "Like those", "Like that",
    ]
    /// Rare words that stand for *who*, *whose*, *now*, *as many* or a name.
    private static let rare = #"\b(whoever|whomever|whichever|of which|of whom|any more|so many)\b"#

    private static let blocks = ProjectFiles.swiftFiles().flatMap(CommentBlock.blocks)

    @Test(arguments: Self.rules)
    func commentsAreReadOnce(_ rule: Rule) {
        #expect(Self.blocks.count > 10_000, "the test finds what it looks for")
        let broken = Self.blocks.filter(rule.breaks)
        #expect(
            broken.count <= rule.ceiling,
            "\(broken.count) comments where \(rule.ceiling) is the most: \(Self.list(broken))")
    }
    private static func list(_ blocks: [CommentBlock]) -> String {
        blocks.map { "\n\($0.path):\($0.line): \($0.text)" }.joined()
    }

    @Test func aBlockIsWhatStandsTogether() {
        let file = ProjectFiles.TextFile(
            path: "A.swift",
            lines: [
                "/// Of one. Said", "/// on two lines.", "// Why: two sentences.", "let a = 1 // not a block", "",
                "    // Last.",
            ])
        let blocks = CommentBlock.blocks(in: file)
        #expect(blocks.map(\.text) == ["Of one. Said on two lines.", "Why: two sentences.", "Last."])
        #expect(blocks.map(\.line) == [1, 3, 6])
        #expect(blocks[0].sentences.map(\.count) == [2, 4])
        #expect(Self.rules[0].breaks(blocks[0]))
        #expect(!Self.rules[0].breaks(blocks[1]))
    }
}

/// Consecutive comment lines of one kind.
struct CommentBlock: Sendable {
    var path: String
    /// Number of the block's first line, counted from 1.
    var line: Int
    /// Text of the block's lines, joined.
    var text: String

    /// The words of each sentence. A clause after a colon or semicolon, and an entry of a list, count as sentences.
    var sentences: [[Substring]] {
        var sentences: [[Substring]] = [[]]
        for word in self.text.split(separator: " ") {
            if word == "-" {
                sentences.append([])
                continue
            }
            sentences[sentences.count - 1].append(word)
            if let last = word.last, ".:;!?".contains(last) { sentences.append([]) }
        }
        return sentences.filter { !$0.isEmpty }
    }

    static func blocks(in file: ProjectFiles.TextFile) -> [CommentBlock] {
        var blocks: [CommentBlock] = []
        var former = ""
        for (index, line) in file.lines.enumerated() {
            let trimmed = line.drop { $0 == " " }
            let kind = trimmed.hasPrefix("///") ? "///" : trimmed.hasPrefix("//") ? "//" : ""
            defer { former = kind }
            guard !kind.isEmpty else { continue }
            let text = trimmed.dropFirst(kind.count).drop { $0 == " " }
            if kind == former {
                blocks[blocks.count - 1].text += " \(text)"
            } else {
                blocks.append(CommentBlock(path: file.path, line: index + 1, text: String(text)))
            }
        }
        return blocks
    }
}
