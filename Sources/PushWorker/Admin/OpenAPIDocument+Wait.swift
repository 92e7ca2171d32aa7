extension OpenAPIDocument {
    /// What an activity waits for: the first line stands behind an indentation already.
    static let wait = #"""
        "Wait": {
                "type": "object",
                "description": "What the next push waits for; left out where nothing waits.",
                "required": ["cause", "given-up-then", "text"],
                "properties": {
                  "cause": {"type": "string", "enum": [\#(Self.causes)]},
                  "text": {"type": "string", "description": "What follows “it waits for”."},
                  "ends-in-millis": {"type": "integer", "minimum": 0, "description": "When time alone ends it; left out where it does not."},
                  "given-up-then": {"type": "boolean", "description": "What waits is given up then. false: it may leave then."}
                }
              },
        """#

    private static var causes: String {
        ActivityWait.Cause.allCases.map { "\"\($0.rawValue)\"" }.joined(separator: ", ")
    }
}
