public import PushModel
import PushWorker

/// Fuzzes the worker's configuration file, and the environment variables beside it.
public struct ConfigurationTarget: FuzzTarget {
    public static let name = "configuration"
    public static let pieces: [[UInt8]] = [
        ":", "\n", "  ", "- ", "{", "}", "[", "]", "'", "\"", "#", "&a ", "*a", "<<: *a", "|", ">", "? ", "!!int ",
        "---\n",
        "\t", "\u{0}", "null", "true", "1s", "15m", "-5", "apps", "apps:\n  com.example.b: {}\n",
        "budget.per-hour: 5\n",
        "apns", "kafka", "kafka.properties.sasl.password: x\n", "coalescing:\n", "%", "@", "`", "\u{2028}", "é",
    ].map { Array($0.utf8) }

    public init() {}

    public mutating func read(_ input: [UInt8], random: inout SplitMix64) -> String? {
        var environment: [String: String] = [:]
        if random.below(4) == 0 {
            let words = input.split { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: ":") }.map {
                String(decoding: $0, as: UTF8.self)
            }
            for _ in 0..<3 where !words.isEmpty {
                let name = random.oneOf(["BUDGET_PER_HOUR", "APPS", "KAFKA_BOOTSTRAP", random.oneOf(words)])
                environment["MAILBOAT_" + name] = random.oneOf(words)
            }
        }
        do throws(ConfigurationError) {
            let loaded = try ConfigurationLoader.load(input, fileName: "worker.yaml", environment: environment)
            return loaded.warnings.contains("") ? "a note is empty" : nil
        } catch {
            if error.faults.isEmpty { return "refused without a fault" }
            for fault in error.faults where fault.text.isEmpty || fault.description.contains(where: \.isNewline) {
                return "a fault is no line: \(fault)"
            }
            return nil
        }
    }
}
