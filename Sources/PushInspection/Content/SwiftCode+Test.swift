extension SwiftCode {
    /// Writes a test for the app's own package. The test decodes this `content-state` with the app's type, as
    /// ActivityKit does, and compares the values.
    /// - Parameters:
    ///   - activity: names the test.
    ///   - attributesType: the type to which `ContentState` belongs; empty: not known.
    ///   - schema: what the app expects. A Swift type says how each value is written; `nil`: not known.
    public static func test(
        of content: JSONTree, activity: String, attributesType: String = "", schema: ContentSchema? = nil
    ) -> String {
        let isSwift = schema?.source == .swift
        var type = isSwift ? schema?.swiftName ?? "ContentState" : "ContentState"
        if type == "ContentState", !attributesType.isEmpty { type = "\(Self.identifier(attributesType)).ContentState" }
        var hints = ["Import your app's module, too: @testable import YourApp"]
        if type == "ContentState" {
            hints.append("Put your attributes' name before ContentState, as in MatchAttributes.ContentState.")
        }
        if let fault = schema?.fault(in: content) { hints.append("It fails: \(fault).") }
        let dates = isSwift ? DateLens.findings(in: content, schema: schema).filter(\.isTrouble) : []
        let content = TokenHiding.hidden(content)
        let checks = isSwift ? schema.map { Self.checks(content, $0.shape, "state", path: "") } ?? [] : []
        let checked = Set(checks.map(\.path))
        for date in dates {
            let fails = date.sendSeconds != nil && checked.contains(date.path)
            hints.append("\(fails ? "It fails, as “" : "“")\(date.path)” is \(date.spelling): \(date.advice)")
        }
        let hint = hints.map { "// \($0)\n" }.joined()
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
        let conditions =
            isSwift
            ? checks.map(\.condition)
            : zip(members, Self.properties(of: members.map(\.name))).compactMap { member, property in
                Self.expected(member.value).map { "state.\(property) == \($0)" }
            }
        code += conditions.isEmpty ? "    _ = state" : conditions.map { "    #expect(\($0))" }.joined(separator: "\n")
        return code + "\n}\n"
    }

    /// One condition that the test checks, such as `state.minutes == 12`.
    private struct Check {
        /// Path of the value in the content, such as `legs[0].at`.
        var path: String
        var condition: String
    }

    /// The conditions for a value and its parts. Parts that the type does not decode are left out. Some parts that are
    /// hard to compare are left out, too, such as the elements of a `Set`.
    /// - Parameters:
    ///   - expression: names the decoded value in Swift.
    ///   - path: the value's path in the content; empty: it is the whole content.
    private static func checks(
        _ value: JSONTree, _ shape: ContentSchema.Shape, _ expression: String, path: String
    ) -> [Check] {
        let isOptional = shape.kinds.contains(.null)
        let chained = expression + (isOptional ? "?" : "")
        func below(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
        switch value {
        case .null: return isOptional ? [Check(path: path, condition: "\(expression) == nil")] : []
        case .object(let members) where shape.swiftType == "Dictionary":
            guard var inner = shape.values.first, !inner.kinds.contains(.null) else { return [] }
            // A dictionary's subscript returns an optional.
            inner.kinds.append(.null)
            return members.flatMap { member in
                Self.expected(.string(member.name)).map {
                    Self.checks(member.value, inner, "\(chained)[\($0)]", path: below(member.name))
                } ?? []
            }
        case .object(let members):
            return members.flatMap { member -> [Check] in
                guard let property = shape.properties.first(where: { $0.name == member.name }),
                    !property.swiftName.isEmpty
                else { return [] }
                let name = Self.words.contains(property.swiftName) ? "`\(property.swiftName)`" : property.swiftName
                return Self.checks(member.value, property.shape, "\(chained).\(name)", path: below(member.name))
            }
        case .array(let elements):
            guard shape.swiftType == "Array", let item = shape.items.first else { return [] }
            return elements.enumerated().flatMap { index, element in
                Self.checks(element, item, "\(chained)[\(index)]", path: "\(path)[\(index)]")
            }
        case .string, .bool, .number:
            let subject = shape.isRawValue ? "\(chained).rawValue" : expression
            return Self.expected(value, shape).map { [Check(path: path, condition: "\(subject) == \($0)")] } ?? []
        }
    }

    /// The Swift expression that a decoded value of the app's own type must equal. `nil`: the value has several parts,
    /// or is of another type.
    private static func expected(_ value: JSONTree, _ shape: ContentSchema.Shape) -> String? {
        switch value {
        case .string where shape.kinds.contains(.string):
            let literal = Self.expected(value)
            return switch shape.swiftType {
            case "URL": literal.map { "URL(string: \($0))" }
            case "UUID": literal.map { "UUID(uuidString: \($0))" }
            case "Data": literal.map { "Data(base64Encoded: \($0))" }
            default: literal
            }
        case .bool where shape.kinds.contains(.boolean): return Self.expected(value)
        case .number(let spelling) where shape.isDate:
            // Expect the date that was probably meant, so that the test fails until the server counts from 2001.
            let meant = value.double.flatMap { DateLens.trouble(of: $0, isDate: true) }
            return "Date(timeIntervalSinceReferenceDate: \(meant.map(String.init) ?? spelling))"
        case .number(let spelling) where shape.swiftType == "Decimal": return "Decimal(string: \"\(spelling)\")"
        case .number(let spelling) where shape.kinds.contains(.number): return spelling
        case .number(let spelling) where shape.kinds.contains(.integer):
            // Swift decodes 12.0 as an Int, but does not compare an Int with the literal 12.0.
            return Int64(spelling) != nil || UInt64(spelling) != nil
                ? spelling : value.double.flatMap { Int64(exactly: $0) }.map { "\($0)" }
        case .string, .bool, .number, .null, .object, .array: return nil
        }
    }

    private static let imports = ["Foundation", "Testing"]

    /// The literal that a decoded value must equal. `nil`: the value has several parts, or a single-line literal cannot
    /// hold it.
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
