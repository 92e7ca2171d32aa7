import Foundation

/// Finds values of a `content-state` that look like dates and that a phone's plain `JSONDecoder` misreads. It takes a
/// `Date` as a number of seconds since 2001 (the page "For those who write the app").
enum DoubtfulDates {
    /// Most values that are named.
    static let shownMax = 3
    /// Distance from now, in seconds, within which a number since 1970 is taken for a date: ten years.
    private static let nearSeconds = 10.0 * 365.25 * 86_400

    /// Paths and values, such as `eta = 1764093600 (seconds since 1970)`, in the order of their paths. Empty if the
    /// text is not JSON.
    static func find(inContentState bytes: [UInt8], nowSeconds: Int64) -> [String] {
        guard !bytes.isEmpty, let value = try? JSONSerialization.jsonObject(with: Data(bytes)) else { return [] }
        var found: [String] = []
        Self.walk(value, path: "", now: Double(nowSeconds), into: &found)
        return Array(found.prefix(Self.shownMax))
    }

    private static func walk(_ value: Any, path: String, now: Double, into found: inout [String]) {
        switch value {
        case let object as [String: Any]:
            for (name, value) in object.sorted(by: { $0.key < $1.key }) {
                Self.walk(value, path: path.isEmpty ? name : "\(path).\(name)", now: now, into: &found)
            }
        case let array as [Any]:
            for (index, value) in array.enumerated() {
                Self.walk(value, path: "\(path)[\(index)]", now: now, into: &found)
            }
        case let text as String:
            // Text such as 2026-11-25T…, which most languages write by default.
            let digits = Array(text.utf8.prefix(11))
            guard digits.count == 11, digits[4] == UInt8(ascii: "-"), digits[7] == UInt8(ascii: "-"),
                digits[10] == UInt8(ascii: "T"), digits[..<4].allSatisfy({ (0x30...0x39).contains($0) })
            else { return }
            found.append("\(path) = \"\(text.prefix(32))\" (a text)")
        case let number as Double:
            if abs(number - now) < Self.nearSeconds {
                found.append("\(path) = \(Self.text(number)) (seconds since 1970)")
            } else if abs(number / 1_000 - now) < Self.nearSeconds {
                found.append("\(path) = \(Self.text(number)) (milliseconds since 1970)")
            }
        default: break
        }
    }

    private static func text(_ number: Double) -> String {
        Int64(exactly: number).map { "\($0)" } ?? "\(number)"
    }
}
