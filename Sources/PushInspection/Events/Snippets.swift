/// Commands to be pasted into a shell, and code into Xcode.
public enum Snippets {
    /// Publishes an event through the page.
    /// - Parameter origin: such as `http://127.0.0.1:8484`.
    public static func curl(origin: String, activity: String, event: String) -> String {
        let query = activity.isEmpty ? "" : "?activity=\(Self.percentEncoded(activity))"
        return
            "curl --fail-with-body -sS \(Self.quoted("\(origin)/events\(query)")) --data-binary \(Self.quoted(event))"
    }

    /// Publishes a record to Kafka, onto the partition where Java's clients would put it. `nil`: the key or event has a line end, where kcat
    /// would end the record.
    public static func kcat(bootstrap: String, topic: String, key: String, event: String) -> String? {
        guard !key.contains(where: \.isNewline), !event.contains(where: \.isNewline),
            let separator = ["|", ";", "~", "^", "#"].first(where: { !key.contains($0) })
        else { return nil }
        return "printf '%s\\n' \(Self.quoted("\(key)\(separator)\(event)")) | kcat -P -b \(bootstrap) -t \(topic) "
            + "-K '\(separator)' -X partitioner=murmur2_random"
    }

    /// Publishes an event through the page with nothing but Python's own library.
    public static func python(origin: String, activity: String, event: String) -> String {
        """
        python3 - <<'END'
        import sys, urllib.request
        event = b\(Self.pythonLiteral(event))
        answer = urllib.request.urlopen(\(JSONTree.string("\(origin)/events?activity=\(Self.percentEncoded(activity))").text), event)
        sys.stdout.write(answer.read().decode())
        END
        """
    }

    /// In single quotes, as every POSIX shell takes them.
    public static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    /// Everything but letters, digits and `-._~`, as a part of a URL is written.
    public static func percentEncoded(_ text: String) -> String {
        var encoded = ""
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                encoded.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16, uppercase: true)
                encoded += "%" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return encoded
    }

    /// A bytes literal: what is not printable ASCII is escaped.
    private static func pythonLiteral(_ text: String) -> String {
        var literal = "'"
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "'"), UInt8(ascii: "\\"):
                literal += "\\"
                literal.unicodeScalars.append(Unicode.Scalar(byte))
            case 0x20..<0x7F: literal.unicodeScalars.append(Unicode.Scalar(byte))
            default:
                let digits = String(byte, radix: 16)
                literal += "\\x" + (digits.count < 2 ? "0" : "") + digits
            }
        }
        return literal + "'"
    }
}
