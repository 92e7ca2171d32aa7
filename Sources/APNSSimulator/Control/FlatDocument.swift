import FoundationEssentials

/// A JSON object of strings, numbers and booleans, as the control API reads it. Each key is taken once, and a key that
/// is left is an error.
struct FlatDocument {
    /// Why a document is refused, in words for its sender.
    struct Refusal: Error { var text: String }

    private enum Scalar: Decodable {
        case text(String)
        case number(Double)
        case bool(Bool)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let bool = try? container.decode(Bool.self) {
                self = .bool(bool)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else {
                self = .text(try container.decode(String.self))
            }
        }
    }

    private var values: [String: Scalar]

    init(_ body: [UInt8]) throws(Refusal) {
        do {
            self.values = try JSONDecoder().decode([String: Scalar].self, from: Data(body))
        } catch {
            throw Refusal(text: "the body must be one JSON object whose values are strings, numbers or booleans")
        }
    }

    mutating func text(_ key: String) throws(Refusal) -> String? {
        guard let value = self.values.removeValue(forKey: key) else { return nil }
        guard case .text(let text) = value else { throw Refusal(text: "'\(key)' must be a string") }
        return text
    }

    mutating func bool(_ key: String) throws(Refusal) -> Bool? {
        guard let value = self.values.removeValue(forKey: key) else { return nil }
        guard case .bool(let bool) = value else { throw Refusal(text: "'\(key)' must be true or false") }
        return bool
    }

    mutating func integer(_ key: String, in range: ClosedRange<Int>) throws(Refusal) -> Int? {
        guard let value = self.values.removeValue(forKey: key) else { return nil }
        guard case .number(let number) = value, let integer = Int(exactly: number), range.contains(integer) else {
            throw Refusal(text: "'\(key)' must be a whole number from \(range.lowerBound) to \(range.upperBound)")
        }
        return integer
    }

    mutating func fraction(_ key: String) throws(Refusal) -> Double? {
        guard let value = self.values.removeValue(forKey: key) else { return nil }
        guard case .number(let number) = value, (0...1).contains(number) else {
            throw Refusal(text: "'\(key)' must be a number from 0 to 1")
        }
        return number
    }

    /// Throws if a key was not taken.
    func finish() throws(Refusal) {
        guard let key = self.values.keys.min() else { return }
        throw Refusal(text: "unknown key '\(key)'")
    }
}
