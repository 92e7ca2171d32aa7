import Foundation
import Testing

/// Tests that declarations have a comment if other targets can see them.
struct DocumentationTests {
    /// Least share of the counted declarations of all targets together that must have a comment.
    static let shareMin = 0.98
    /// Least share of the counted declarations of each target that must have a comment.
    static let shareOfTargetMin = 0.95

    @Test func everyTargetIsDocumented() throws {
        var counts: [String: (all: Int, documented: Int)] = [:]
        var missing: [String: [VisibleDeclaration]] = [:]
        for file in ProjectFiles.swiftFiles(in: ["Sources"]) {
            let target = String(file.path.split(separator: "/")[1])
            for declaration in DeclarationScan.declarations(in: file) where Self.counts(declaration, in: file) {
                counts[target, default: (0, 0)].all += 1
                if declaration.isDocumented {
                    counts[target, default: (0, 0)].documented += 1
                } else {
                    missing[target, default: []].append(declaration)
                }
            }
        }
        #expect(counts.values.reduce(0) { $0 + $1.all } > 2_000, "the test finds what it looks for")
        for (target, count) in counts {
            #expect(
                Double(count.documented) >= Self.shareOfTargetMin * Double(count.all),
                "\(target): \(count.documented) of \(count.all) have a comment; \(Self.list(missing[target] ?? []))")
        }
        let all = counts.values.reduce(0) { $0 + $1.all }
        let documented = counts.values.reduce(0) { $0 + $1.documented }
        #expect(
            Double(documented) >= Self.shareMin * Double(all),
            "\(documented) of \(all) have a comment; \(Self.list(missing.values.flatMap { $0 }))")
    }

    /// The rule for an event with two outcomes has the same text on both pages where a publisher may look for it.
    @Test func theRuleForTwoOutcomesIsTheSameOnBothPages() throws {
        let rules = try ["README.md", "Sources/mailboat/Mailboat.docc/Outcomes.md"].map { path in
            let text = try #require(ProjectFiles.textFile(path)).lines.joined(separator: "\n")
            let start = try #require(text.firstRange(of: "If one of the outcomes is `delivered`")).lowerBound
            let end = try #require(text[start...].firstRange(of: "only if there is no other.")).upperBound
            return text[start..<end]
        }
        #expect(rules[0] == rules[1])
        #expect(rules[0].contains("neither `unknown` nor `duplicate`"))
    }

    /// Whether a declaration counts. A declaration does not count if a comment could only repeat what is known:
    /// - a member with the name that a protocol of Swift or of a library demands, because the protocol describes it;
    /// - an initialiser whose parameters all have names of properties of the file, because the properties are
    ///   described;
    /// - an enum case with a text as its raw value, such as Apple's `BadDeviceToken`, because the text says what it is.
    ///
    /// Everything else counts. Several enum cases on one line count once, and their comment says what the names do not.
    private static func counts(_ declaration: VisibleDeclaration, in file: ProjectFiles.TextFile) -> Bool {
        switch declaration.keyword {
        case "case":
            return !declaration.text.contains("= \"")
        case "init":
            return !declaration.text.contains("init(from ") && !Self.onlyStores(declaration, in: file)
        default:
            return !Self.witnesses.contains { declaration.text.contains($0) }
        }
    }

    /// Members that these protocols demand: `Equatable`, `Comparable`, `Hashable`, `Codable`, those that print a value,
    /// and `MetricsFactory` of swift-metrics.
    private static let witnesses = [
        "static func == ", "static func < ", "func hash(into", "func encode(to", "var description: String",
        "var debugDescription: String", "func makeCounter(", "func makeFloatingPointCounter(", "func makeMeter(",
        "func makeRecorder(", "func makeTimer(", "func destroyCounter(", "func destroyFloatingPointCounter(",
        "func destroyMeter(", "func destroyRecorder(", "func destroyTimer(",
    ]

    /// Whether an initialiser has parameters, and all have names of properties of the file.
    private static func onlyStores(_ declaration: VisibleDeclaration, in file: ProjectFiles.TextFile) -> Bool {
        let signature = file.lines[(declaration.line - 1)...].prefix(12).joined(separator: " ")
        guard let begin = signature.firstIndex(of: "("),
            let end = signature[begin...].firstIndex(of: "{")
        else { return false }
        // A parameter's name is the word before its colon. Names inside a tuple or closure type are found as well, but
        // no property has such a name.
        let names = signature[begin..<end].split(separator: ":").dropLast().compactMap {
            $0.split { !$0.isLetter && !$0.isNumber && $0 != "_" }.last
        }
        return !names.isEmpty
            && names.allSatisfy { name in
                file.lines.contains { $0.contains(" var \(name)") || $0.contains(" let \(name)") }
            }
    }

    private static func list(_ declarations: [VisibleDeclaration]) -> String {
        declarations.map { "\n\($0.path):\($0.line): \($0.text)" }.joined()
    }
}
