import PushModel

/// The texts of an alert, as a phone shows them.
struct AlertText: Equatable {
    var title: String
    /// Empty: the alert has none.
    var body: String

    init(_ alert: JSONTree) {
        self.title = Self.text(alert["title"] ?? alert)
        self.body = Self.text(alert["body"])
    }

    var json: JSONTree { ["title": .string(self.title), "body": .string(self.body)] }

    /// The text of a title or body. The arguments of a localized text are filled in.
    private static func text(_ part: JSONTree?) -> String {
        guard case .string(let words)? = part?["loc-key"] ?? part else { return "" }
        guard case .array(let arguments)? = part?["loc-args"] else { return words }
        return Self.filled(words, with: arguments.map(\.plainText))
    }

    /// A localized text with its arguments in place of `%@` and `%1$@`, as iOS does where the app has no translation.
    static func filled(_ text: String, with arguments: [String]) -> String {
        var next = 0
        return text.replacing(/%(?:(\d{1,2})\$)?@/) { found -> String in
            let index: Int
            if let number = found.output.1 {
                index = (Int(number) ?? 0) - 1
            } else {
                index = next
                next += 1
            }
            return arguments.indices.contains(index) ? arguments[index] : String(found.output.0)
        }
    }
}
