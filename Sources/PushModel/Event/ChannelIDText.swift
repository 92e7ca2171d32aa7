/// The form of a channel's id in events and in APNs' answers.
public enum ChannelIDText {
    /// Whether a text may be an id from Apple: base64, with at most two `=` at its end. Apple does not specify the
    /// length.
    public static func isBase64(_ text: [UInt8]) -> Bool {
        let digits = text.prefix { $0 != UInt8(ascii: "=") }
        let areDigits = digits.allSatisfy {
            switch $0 {
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"),
                UInt8(ascii: "+"), UInt8(ascii: "/"):
                true
            default: false
            }
        }
        let padding = text[digits.endIndex...]
        return !digits.isEmpty && areDigits && padding.count <= 2
            && padding.allSatisfy { $0 == UInt8(ascii: "=") }
    }
}
