import KafkaLog
import PushWorker

/// The form of an option's value: how it is read, and what a refusal says was expected.
package struct ValueForm<Value: Sendable>: Sendable {
    /// Completes "expected …".
    let expected: String
    /// The range in the help; `nil` if the option's own text has it.
    let range: String?
    /// Reads a value. Throws a `FormFault`.
    let read: @Sendable (String) throws -> Value

    private init(expected: String, range: String?, read: @escaping @Sendable (String) -> (Value?, String)) {
        (self.expected, self.range) = (expected, range)
        self.read = { text in
            let (value, expected) = read(text)
            guard let value else { throw FormFault(description: "expected \(expected)") }
            return value
        }
    }
}

/// Why a value is refused: what was expected instead.
struct FormFault: Error, CustomStringConvertible {
    let description: String
}

extension ValueForm where Value: FixedWidthInteger {
    /// A whole number.
    /// - Parameter unit: what it counts, such as `seconds`; empty if the option's name says it.
    package static func whole(_ range: ClosedRange<Value>, _ unit: String = "") -> Self {
        let counted = unit.isEmpty ? "" : " \(unit)"
        let isOpen = range.upperBound == Value.max
        let bounds = isOpen ? "\(range.lowerBound) or more" : "\(range.lowerBound) to \(range.upperBound)"
        return Self(expected: bounds + counted, range: isOpen ? nil : bounds + counted) { text in
            guard let number = Value(text) else { return (nil, "a whole number, \(bounds)\(counted)") }
            return (range.contains(number) ? number : nil, bounds + counted)
        }
    }
}

extension ValueForm<Int> {
    /// One of a few numbers.
    package static func oneOf(_ numbers: [Int]) -> Self {
        let words = numbers.map { "\($0)" }
        let expected = words.dropLast().joined(separator: ", ") + " or \(words.last ?? "")"
        return Self(expected: expected, range: expected) { text in
            (Int(text).flatMap { numbers.contains($0) ? $0 : nil }, expected)
        }
    }

    /// A TCP port to listen on; 0 for any free one.
    package static var listeningPort: Self { .whole(0...65_535) }
}

extension ValueForm<Double> {
    /// A number that may have a fraction.
    package static func number(_ range: ClosedRange<Double>, _ unit: String = "") -> Self {
        let bounds = "\(Self.text(range.lowerBound)) to \(Self.text(range.upperBound))\(unit.isEmpty ? "" : " \(unit)")"
        return Self(expected: bounds, range: bounds) { text in
            guard let number = Double(text), number.isFinite else { return (nil, "a number, \(bounds)") }
            return (range.contains(number) ? number : nil, bounds)
        }
    }

    private static func text(_ number: Double) -> String {
        number == number.rounded() && abs(number) < 1e15 ? "\(Int64(number))" : "\(number)"
    }
}

extension ValueForm<String> {
    private static func text(_ expected: String, accepts: @escaping @Sendable (String) -> Bool) -> Self {
        Self(expected: expected, range: nil) { (accepts($0) ? $0 : nil, expected) }
    }

    /// An app's bundle id.
    package static var bundleID: Self {
        Self(expected: SettingChecks.expectedBundleID(for: ""), range: nil) { text in
            (SettingChecks.isBundleID(text) ? text : nil, SettingChecks.expectedBundleID(for: text))
        }
    }

    /// The id of a team or a key.
    package static var appleIdentifier: Self {
        .text("10 letters and digits, as Apple gives them") { SettingChecks.isAppleIdentifier($0) }
    }

    /// A host name or an address.
    package static var host: Self { .text("a host name or an IP address") { SettingChecks.isHost($0) } }

    /// The name of a topic.
    package static var topic: Self { .text(TopicName.expected) { TopicName.isValid($0) } }

    /// A list of brokers.
    package static var brokers: Self { .text(BrokerList.expected) { BrokerList.isValid($0) } }
}
