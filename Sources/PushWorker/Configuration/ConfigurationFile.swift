import PushModel
import Redaction
import Yams

/// A configuration file as it was written: names, texts and lines. Reads YAML, and therefore JSON too.
struct ConfigurationFile {
    /// One value with its whole name.
    struct Entry {
        /// The parts of the name, as nested in the file. A name written with dots is one part, and so is a bundle id.
        var path: [String]
        var text: SettingText
        var line: Int

        /// The whole name as faults show it. Words that do not look like a name are hidden, because they may be a value
        /// in the wrong place.
        var shownName: String { ConfigurationFile.shownName(self.path) }
    }

    /// A setting's name as errors show it. In an app's setting, the bundle id is shown, too.
    fileprivate static func shownName(_ path: [String]) -> String {
        path.enumerated().map { index, word in
            index == 1 && path[0] == "apps" ? ShownText.name(word) : ShownText.unknownName(word)
        }.joined(separator: ".")
    }

    private(set) var entries: [Entry] = []
    /// Faults of entries that cannot be settings at all.
    private(set) var faults: [ConfigurationFault] = []
    let name: String

    static let byteCountMax = 1_048_576
    static let depthMax = 16
    static let entriesMax = 10_000

    /// - Parameter name: the file's name in faults.
    init(_ bytes: [UInt8], name: String) throws(ConfigurationError) {
        self.name = name
        guard bytes.count <= Self.byteCountMax else {
            throw Self.error(name, line: nil, "has \(bytes.count) bytes: expected at most \(Self.byteCountMax)")
        }
        guard !ByteOrderMark.stands(in: bytes.span, at: 0) else {
            throw Self.error(name, line: nil, ByteOrderMark.complaint)
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Self.error(name, line: nil, "is not UTF-8")
        }
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch let YamlError.duplicatedKeysInMapping(names, context) {
            throw RepeatedNames(names, near: context.mark, in: text).error(file: name)
        } catch let error as YamlError {
            let (line, problem) = Self.problem(error)
            throw Self.error(name, line: line, "is not YAML: \(problem)")
        } catch {
            throw Self.error(name, line: nil, "is not YAML")
        }
        switch root {
        case nil: break
        case .mapping(let mapping): self.read(mapping, path: [])
        case .scalar(let scalar) where scalar.string.isEmpty: break
        case .scalar, .sequence, .alias:
            throw Self.error(
                name, line: 1, "holds no settings: expected lines such as 'kafka.bootstrap: localhost:9092'")
        }
    }

    func location(line: Int) -> String { "\(self.name):\(line)" }

    private mutating func read(_ mapping: Node.Mapping, path: [String]) {
        for (key, node) in mapping {
            let line = key.mark?.line ?? node.mark?.line ?? 0
            guard let word = key.scalar?.string, !word.isEmpty else {
                self.fault(path, line, "has a name that is no text")
                continue
            }
            let inner = path + [word]
            guard inner.count <= Self.depthMax, self.entries.count < Self.entriesMax else {
                self.fault(
                    inner, line,
                    "is nested deeper than \(Self.depthMax), or one of more than \(Self.entriesMax) settings")
                return
            }
            switch node {
            case .mapping(let mapping):
                // An app with only default settings is written as `com.example.pizza: {}` below `apps`.
                if mapping.isEmpty, path == ["apps"] || inner == ["apps"] {
                    self.entries.append(Entry(path: inner, text: .list([]), line: line))
                }
                self.read(mapping, path: inner)
            case .scalar(let scalar):
                let isNothing = scalar.style == .plain && ["", "~", "null"].contains(scalar.string)
                if isNothing, path == ["apps"] {
                    self.entries.append(Entry(path: inner, text: .list([]), line: line))
                } else if isNothing {
                    self.fault(inner, line, "has no value")
                } else {
                    self.entries.append(Entry(path: inner, text: .one(scalar.string), line: line))
                }
            case .sequence(let sequence):
                let texts = sequence.compactMap { $0.scalar?.string }
                if texts.count == sequence.count {
                    self.entries.append(Entry(path: inner, text: .list(texts), line: line))
                } else {
                    self.fault(inner, line, "is a list of something else than texts")
                }
            case .alias:
                self.fault(inner, line, "is an alias that cannot be resolved")
            }
        }
    }

    private mutating func fault(_ path: [String], _ line: Int, _ text: String) {
        self.faults.append(
            ConfigurationFault(setting: Self.shownName(path), location: self.location(line: line), text: text))
    }

    private static func error(_ name: String, line: Int?, _ text: String) -> ConfigurationError {
        ConfigurationError(faults: [
            ConfigurationFault(setting: "file", location: line.map { "\(name):\($0)" } ?? name, text: text)
        ])
    }

    /// The line and the problem, in fixed words. The parser's own text is not used: it repeats the line, which may
    /// contain a secret.
    private static func problem(_ error: YamlError) -> (line: Int?, text: String) {
        switch error {
        case .scanner(let context, let problem, let mark, _), .parser(let context, let problem, let mark, _),
            .composer(let context, let problem, let mark, _):
            (mark.line, (context.map { "\($0.text), " } ?? "") + "\(problem) at column \(mark.column)")
        case .reader(let problem, let offset, _, _): (nil, problem + (offset.map { " at byte \($0)" } ?? ""))
        default: (nil, "it cannot be read")
        }
    }
}

extension ConfigurationFile: Redacted {}
extension ConfigurationFile.Entry: Redacted {}

/// Names that are given twice in one group of a file. The parser reports where one of them is. The other lines are
/// found by a search in the text.
private struct RepeatedNames {
    private let faults: [(name: String, lines: [Int])]

    /// - Parameter mark: where one of the names is.
    init(_ names: [String], near mark: Mark, in text: String) {
        let lines = text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        func indent(_ line: Substring) -> Int? {
            let rest = line.drop { $0 == " " }
            return rest.isEmpty || rest.hasPrefix("#") ? nil : line.distance(from: line.startIndex, to: rest.startIndex)
        }
        // The group contains the lines around the name, up to a line that is indented less.
        let column = mark.column - 1
        let start = max(0, min(mark.line - 1, lines.count - 1))
        let isOutside = { (index: Int) in indent(lines[index]).map { $0 < column } ?? false }
        let first = (0..<start).last(where: isOutside).map { $0 + 1 } ?? 0
        let end = (start..<lines.count).first(where: isOutside) ?? lines.count
        self.faults = names.prefix(8).map { name in
            let found = (first..<max(first, end)).filter { index in
                guard indent(lines[index]) == column else { return false }
                return Self.stands(name, in: lines[index].dropFirst(column))
            }
            return (name: name, lines: found.map { $0 + 1 })
        }
    }

    private static func stands(_ name: String, in line: Substring) -> Bool {
        [name, "\"\(name)\"", "'\(name)'"].contains { written in
            line.hasPrefix(written) && line.dropFirst(written.count).drop { $0 == " " }.hasPrefix(":")
        }
    }

    func error(file: String) -> ConfigurationError {
        ConfigurationError(
            faults: self.faults.map { name, lines in
                // Names between braces are not found in the text, so they have no lines.
                let others = lines.dropLast().map { "\($0)" }
                return ConfigurationFault(
                    setting: ShownText.unknownName(name), location: lines.last.map { "\(file):\($0)" } ?? file,
                    text: "is given twice"
                        + (others.isEmpty
                            ? "" : ": also on line\(others.count == 1 ? "" : "s") \(others.joined(separator: ", "))"))
            })
    }
}
