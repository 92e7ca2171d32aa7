extension SwiftCode {
    /// Writes a test for the app's own package: its type decodes this `content-state`, as ActivityKit does, and has
    /// these values.
    /// - Parameter activity: names the test.
    /// - Parameter attributesType: the type to which `ContentState` belongs; empty: not known.
    public static func test(of content: JSONTree, activity: String, attributesType: String = "") -> String {
        let type = attributesType.isEmpty ? "ContentState" : "\(Self.identifier(attributesType)).ContentState"
        let hint =
            attributesType.isEmpty
            ? "// Put your attributes' name before ContentState, as in MatchAttributes.ContentState.\n" : ""
        let content = TokenHiding.hidden(content)
        let text = content.prettyText
        var marks = "#"
        while text.contains("\"\"\"" + marks) || text.contains("\\" + marks) { marks += "#" }
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { "        " + $0 }
        var code = """
            \(Self.imports.map { "import \($0)" }.joined(separator: "\n"))

            \(hint)@Test func \(Self.testName(activity))() throws {
                let contentState = \(marks)\"""
            \(lines.joined(separator: "\n"))
                    \"""\(marks)
                let state = try JSONDecoder().decode(\(type).self, from: Data(contentState.utf8))

            """
        guard case .object(let members) = content else { return code + "    _ = state\n}\n" }
        let expectations = zip(members, Self.properties(of: members.map(\.name))).compactMap { member, property in
            Self.expected(member.value).map { "    #expect(state.\(property) == \($0))" }
        }
        code += expectations.isEmpty ? "    _ = state" : expectations.joined(separator: "\n")
        return code + "\n}\n"
    }

    private static let imports = ["Foundation", "Testing"]

    /// The literal that a value of the decoded type equals; `nil`: the value has several parts.
    private static func expected(_ value: JSONTree) -> String? {
        switch value {
        case .string(let text):
            var marks = ""
            while text.contains("\"" + marks) || text.contains("\\" + marks) { marks += "#" }
            // A single-line literal cannot hold a line end or another control character.
            return text.unicodeScalars.contains { $0.value < 0x20 || $0.value == 0x7F }
                ? nil : "\(marks)\"\(text)\"\(marks)"
        case .bool(let isTrue): return isTrue ? "true" : "false"
        case .null: return "nil"
        case .number(let spelling):
            return Self.typeName([value], named: "", depth: 0).type == "Date"
                ? "Date(timeIntervalSinceReferenceDate: \(spelling))" : spelling
        case .object, .array: return nil
        }
    }

    /// A test's name: `order-7` becomes `order7DecodesItsContentState`.
    private static func testName(_ activity: String) -> String {
        let name = activity.isEmpty ? "" : Self.identifier(activity).filter { $0 != "`" }
        let first = name.prefix(1).lowercased() + name.dropFirst()
        return first.isEmpty ? "theAppDecodesTheContentState" : "\(first)DecodesItsContentState"
    }
}
