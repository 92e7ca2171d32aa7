import Foundation

/// A declaration that other targets can see.
struct VisibleDeclaration {
    var path: String
    /// Number of the declaration's line, counted from 1.
    var line: Int
    /// The declaration's keyword, such as `func`, `var` or `case`.
    var keyword: String
    /// The declaration's line without its indentation.
    var text: String
    /// Whether a `///` comment is right above the declaration or its attributes.
    var isDocumented: Bool
}

/// Finds `public` and `package` declarations in a source file, line by line. The scan relies on indentation by four
/// columns for each level, which `make lint` ensures.
struct DeclarationScan {
    private static let modifiers: Set<String> = [
        "public", "package", "internal", "private", "fileprivate", "open", "static", "final", "mutating",
        "nonmutating", "nonisolated", "borrowing", "consuming", "override", "convenience", "required", "indirect",
        "lazy", "weak", "unowned", "prefix", "postfix", "infix", "isolated",
    ]
    private static let keywords: Set<String> = [
        "struct", "enum", "class", "actor", "protocol", "extension", "func", "var", "let", "init", "subscript",
        "typealias", "associatedtype", "case",
    ]
    private static let types: Set<String> = ["struct", "enum", "class", "actor", "protocol", "extension"]

    /// A type or extension that contains the present line.
    private struct Enclosing {
        var indentation: Int
        var keyword: String
        var isVisible: Bool

        /// Whether a member without an access level has the access level of the type or extension.
        func lendsAccess(to keyword: String) -> Bool {
            switch self.keyword {
            case "protocol", "extension": self.isVisible
            case "enum": self.isVisible && keyword == "case"
            default: false
            }
        }
    }

    static func declarations(in file: ProjectFiles.TextFile) -> [VisibleDeclaration] {
        var found: [VisibleDeclaration] = []
        var enclosing: [Enclosing] = []
        var isInText = false
        for (index, line) in file.lines.enumerated() {
            if line.contains("\"\"\"") { isInText.toggle() }
            guard !isInText, let head = Self.head(of: line) else { continue }
            while let last = enclosing.last, last.indentation >= head.indentation { enclosing.removeLast() }
            // A deeper line is inside a function, and does not count.
            guard head.indentation == (enclosing.last.map { $0.indentation + 4 } ?? 0) else { continue }
            let isHidden = !head.access.isDisjoint(with: ["private", "fileprivate", "internal"])
            let isVisible =
                !head.access.isDisjoint(with: ["public", "package", "open"])
                || !isHidden && (enclosing.last?.lendsAccess(to: head.keyword) ?? false)
            if Self.types.contains(head.keyword) {
                enclosing.append(
                    Enclosing(indentation: head.indentation, keyword: head.keyword, isVisible: isVisible))
            }
            guard isVisible, head.keyword != "extension" else { continue }
            found.append(
                VisibleDeclaration(
                    path: file.path, line: index + 1, keyword: head.keyword,
                    text: line.trimmingCharacters(in: .whitespaces),
                    isDocumented: Self.isDocumented(index, in: file.lines)))
        }
        return found
    }

    /// The words before a declaration's name, or `nil` when the line begins no declaration.
    private static func head(of line: String) -> (indentation: Int, keyword: String, access: Set<String>)? {
        let indentation = line.prefix { $0 == " " }.count
        var access: Set<String> = []
        for word in line.split(separator: " ") {
            let name = String(word.prefix { $0.isLetter })
            // `private(set)` is not the access level of the declaration itself. `init(` has no space after its keyword.
            if word.hasPrefix("@") || word.hasSuffix("(set)") { continue }
            if name == "class", line.contains("class func ") || line.contains("class var ") { continue }
            if Self.keywords.contains(name) { return (indentation, name, access) }
            guard Self.modifiers.contains(name) else { return nil }
            access.insert(name)
        }
        return nil
    }

    private static func isDocumented(_ index: Int, in lines: [String]) -> Bool {
        let above = lines[..<index].last { line in
            let text = line.trimmingCharacters(in: .whitespaces)
            let isAttribute = text.hasPrefix("@") && Self.head(of: line) == nil
            return !isAttribute
        }
        return above?.trimmingCharacters(in: .whitespaces).hasPrefix("///") ?? false
    }
}
