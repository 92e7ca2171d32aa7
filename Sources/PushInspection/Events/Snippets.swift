/// Commands to paste into a shell, and code to paste into Xcode.
public enum Snippets {
    /// Publishes an event through the page.
    /// - Parameter origin: such as `http://127.0.0.1:8484`.
    public static func curl(origin: String, activity: String, event: String) -> String {
        let query = activity.isEmpty ? "" : "?activity=\(Self.percentEncoded(activity))"
        return
            "curl --fail-with-body -sS \(Self.quoted("\(origin)/events\(query)")) --data-binary \(Self.quoted(event))"
    }

    /// Publishes a record to Kafka, to the partition where Java's clients would put it. `nil`: the key or event
    /// contains a line end, at which kcat would end the record.
    public static func kcat(bootstrap: String, topic: String, key: String, event: String) -> String? {
        guard !key.contains(where: \.isNewline), !event.contains(where: \.isNewline),
            let separator = ["|", ";", "~", "^", "#"].first(where: { !key.contains($0) })
        else { return nil }
        return "printf '%s\\n' \(Self.quoted("\(key)\(separator)\(event)")) | kcat -P -b \(bootstrap) -t \(topic) "
            + "-K '\(separator)' -X partitioner=murmur2_random"
    }

    /// Publishes a record to Kafka with this program, which places it where Java's clients would.
    public static func mailboat(bootstrap: String, topic: String, key: String, event: String) -> String {
        "printf '%s\\n' \(Self.quoted(event)) | mailboat publish --bootstrap \(bootstrap) --topic \(topic) "
            + "--key=\(Self.quoted(key))"
    }

    /// Publishes a record to Kafka with Python's client on top of librdkafka, to the partition where Java's clients
    /// would put it.
    public static func python(bootstrap: String, topic: String, key: String, event: String) -> String {
        """
        python3 - <<'END'
        # pip install confluent-kafka
        from confluent_kafka import Producer
        # Places a key as Java's clients do. Without it order may be lost.
        producer = Producer({"bootstrap.servers": \(JSONTree.string(bootstrap).text), "partitioner": "murmur2_random"})
        producer.produce(\(JSONTree.string(topic).text), key=b\(Self.pythonLiteral(key)), value=b\(Self.pythonLiteral(event)))
        producer.flush()
        END
        """
    }

    /// Publishes an event through the page, over HTTP, with Python's standard library alone.
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

    /// The text in single quotes, as every POSIX shell reads it.
    public static func quoted(_ text: String) -> String {
        "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }

    /// The text as part of a URL: everything but letters, digits and `-._~` is percent-encoded.
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

    /// A Python bytes literal. Bytes that are not printable ASCII are escaped.
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
