import Foundation
import Testing

/// Tests that every rule and section that comments and pages cite exists.
struct CitationTests {
    /// Pages whose headings are rules. The keys are the words that come before the citation of a rule.
    static let pages = [
        "contract": "Sources/mailboat/Mailboat.docc/Contract.md",
        "fan-out contract": "Sources/mailboat/Mailboat.docc/FanOutContract.md",
    ]

    @Test func everyRuleThatIsNamedExists() throws {
        var rules: [String: Set<String>] = [:]
        for (name, path) in Self.pages {
            let page = try #require(ProjectFiles.textFile(path), "\(path) is not there")
            rules[name] = Set(page.lines.filter { $0.hasPrefix("##") }.map { String($0.drop { "# ".contains($0) }) })
        }
        let citation = try Regex(#"\b((?:fan-out )?contract): ([^;:)]*)"#)
        var count = 0
        for file in ProjectFiles.allTextFiles where file.path != "Tests/TidyTests/CitationTests.swift" {
            guard !file.lines(with: "contract").isEmpty else { continue }
            for match in Self.prose(of: file).matches(of: citation) {
                guard let page = match.output[1].substring, let names = match.output[2].substring else { continue }
                for name in names.split(separator: ", ") {
                    count += 1
                    #expect(
                        rules[String(page)]?.contains(String(name)) == true,
                        "\(file.path) names “\(name)”, which is no heading of \(Self.pages[String(page)] ?? "a page")")
                }
            }
        }
        #expect(count > 100, "only \(count) rules are named: the expression fits no longer")
    }

    /// Public documents with numbered sections. Only sections of these may be cited by number.
    private static let numbered = ["RFC", "X.690", "UAX", "trace-context", "Trace Context"]

    @Test func sectionsAreOfDocumentsThatAReaderCanHave() {
        for file in ProjectFiles.allTextFiles where file.path != "Tests/TidyTests/CitationTests.swift" {
            guard !file.lines(with: "§").isEmpty else { continue }
            let text = Self.prose(of: file)
            for range in text.ranges(of: "§") {
                let before = text[..<range.lowerBound].suffix(60)
                #expect(
                    Self.numbered.contains { before.contains($0) },
                    "\(file.path): “\(before.suffix(20))\(text[range.lowerBound...].prefix(6))” is a section of what?")
            }
        }
    }

    /// The file's text as one line, without the marks of comments. A citation may continue in the next line.
    private static func prose(of file: ProjectFiles.TextFile) -> String {
        file.lines.map { line in
            let trimmed = line.drop { $0 == " " }
            return String(trimmed.hasPrefix("//") ? trimmed.drop { "/ ".contains($0) } : trimmed[...])
        }.joined(separator: " ")
    }
}
