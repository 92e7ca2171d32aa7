/// A page of the Prometheus text format, read as strictly as its grammar allows
/// (https://prometheus.io/docs/instrumenting/exposition_formats/).
struct ExpositionPage {
    struct Sample {
        var name: String
        var labels: [(name: String, value: String)]
        var value: String
    }

    struct Fault: Error, CustomStringConvertible {
        var description: String
    }

    private(set) var samples: [Sample] = []
    private(set) var types: [String: String] = [:]
    private(set) var helps: [String: String] = [:]

    /// Reads a page.
    /// - Throws: `Fault` for a line that is neither a head nor a sample.
    init(_ text: String) throws {
        // The split is by scalar, because a Character can hold a line feed and something else.
        var lines = text.unicodeScalars.split(separator: "\n", omittingEmptySubsequences: false)
        guard let last = lines.popLast(), last.isEmpty else { throw Fault(description: "the last line has no end") }
        for line in lines {
            var rest = line
            if line.starts(with: "# ".unicodeScalars) {
                let words = line.split(separator: " ", maxSplits: 3, omittingEmptySubsequences: false).map {
                    String($0)
                }
                guard words.count == 4 else { throw Fault(description: "\(line)") }
                switch words[1] {
                case "HELP":
                    var text = Substring(words[3]).unicodeScalars
                    self.helps[words[2]] = try Self.unescaped(&text, until: nil)
                case "TYPE": self.types[words[2]] = words[3]
                default: throw Fault(description: "\(line)")
                }
            } else {
                self.samples.append(try Self.sample(&rest))
            }
        }
    }

    private static func sample(_ rest: inout Substring.UnicodeScalarView) throws -> Sample {
        var sample = Sample(name: Self.name(&rest), labels: [], value: "")
        if rest.first == "{" {
            repeat {
                rest.removeFirst()
                let name = Self.name(&rest)
                guard !name.isEmpty, rest.starts(with: "=\"".unicodeScalars) else {
                    throw Fault(description: "\(rest)")
                }
                rest.removeFirst(2)
                sample.labels.append((name, try Self.unescaped(&rest, until: "\"")))
            } while rest.first == ","
            guard rest.popFirst() == "}" else { throw Fault(description: "\(rest)") }
        }
        guard !sample.name.isEmpty, rest.popFirst() == " ",
            Double(String(rest)) != nil || rest.elementsEqual("+Inf".unicodeScalars)
        else { throw Fault(description: "\(sample.name): \(rest)") }
        sample.value = String(rest)
        return sample
    }

    private static func name(_ rest: inout Substring.UnicodeScalarView) -> String {
        let name = rest.prefix { $0 == "_" || $0.isASCII && $0.properties.isAlphabetic || ("0"..."9").contains($0) }
        rest.removeFirst(name.count)
        return String(name)
    }

    /// Reads a text and resolves its escapes. The text ends at `end`, or at the end of the line if `end` is `nil`.
    private static func unescaped(_ rest: inout Substring.UnicodeScalarView, until end: Unicode.Scalar?) throws
        -> String
    {
        var text = String.UnicodeScalarView()
        while let scalar = rest.popFirst() {
            if scalar == end { return String(text) }
            guard scalar == "\\" else {
                text.append(scalar)
                continue
            }
            switch rest.popFirst() {
            case "n": text.append("\n")
            case "\\": text.append("\\")
            case "\"" where end != nil: text.append("\"")
            default: throw Fault(description: "an escape that there is not, before \(rest)")
            }
        }
        guard end == nil else { throw Fault(description: "a label's value does not end") }
        return String(text)
    }
}
