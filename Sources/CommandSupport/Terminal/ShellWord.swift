/// A word of a command line that a person is asked to type.
package enum ShellWord {
    /// The text as it is if a shell reads it so, otherwise in quotes.
    package static func quoted(_ text: String) -> String {
        let isPlain = !text.isEmpty && text.utf8.allSatisfy(Self.isPlain)
        return isPlain ? text : "'" + text.replacing("'", with: #"'\''"#) + "'"
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: ".,:/@%+=_-".utf8.contains(byte)
        }
    }
}
