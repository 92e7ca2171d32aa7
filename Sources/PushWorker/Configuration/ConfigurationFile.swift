import Configuration
import Yams

/// A configuration file read as what was written: names, texts and lines. YAML; JSON is understood as well, being YAML.
struct ConfigurationFile {
    /// One value with its whole name.
    struct Entry {
        /// As nested in the file; a name written with dots is one component, and a bundle id always is.
        var path: [String]
        var text: SettingText
        var line: Int
    }

    private(set) var entries: [Entry] = []
    /// What cannot be a setting at all.
    private(set) var faults: [ConfigurationFault] = []
    let name: String

    static let byteCountMax = 1_048_576
    static let depthMax = 16
    static let entriesMax = 10_000

    /// - Parameter name: what faults call the file.
    init(_ bytes: [UInt8], name: String) throws(ConfigurationError) {
        self.name = name
        guard bytes.count <= Self.byteCountMax else {
            throw Self.error(name, line: nil, "has \(bytes.count) bytes: expected at most \(Self.byteCountMax)")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw Self.error(name, line: nil, "is not UTF-8")
        }
        let root: Node?
        do {
            root = try Yams.compose(yaml: text)
        } catch let error as YamlError {
            throw Self.error(name, line: nil, "is not YAML: \(Self.oneLine("\(error)"))")
        } catch {
            throw Self.error(name, line: nil, "is not YAML: \(Self.oneLine("\(error)"))")
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
                // `apps` with an app that takes every default: `com.example.pizza: {}`.
                if mapping.isEmpty, path == ["apps"] {
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
            ConfigurationFault(setting: path.joined(separator: "."), location: self.location(line: line), text: text))
    }

    private static func error(_ name: String, line: Int?, _ text: String) -> ConfigurationError {
        ConfigurationError(faults: [
            ConfigurationFault(setting: "file", location: line.map { "\(name):\($0)" } ?? name, text: text)
        ])
    }

    private static func oneLine(_ text: String) -> String {
        text.split(whereSeparator: \.isNewline).map { $0.trimmingPrefix { $0 == " " } }.joined(separator: "; ")
    }
}
