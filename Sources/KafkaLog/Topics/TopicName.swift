/// Kafka's rule for topic names.
public enum TopicName {
    /// The accepted form in words, for a message that says "expected …".
    public static let expected = "a topic name of 1 to 249 letters, digits, '.', '_' and '-'"

    /// Whether `name` has 1 to 249 ASCII letters, digits, '.', '_' and '-', and is neither "." nor "..".
    public static func isValid(_ name: String) -> Bool {
        guard (1...249).contains(name.utf8.count), name != ".", name != ".." else { return false }
        return name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"):
                true
            default: false
            }
        }
    }
}
