/// Values in a `content-state` that look like dates, and how an app would read them.
///
/// ActivityKit decodes a `content-state` with Swift's default coding, where a `Date` is a number of seconds since 2001.
/// Servers mostly count from 1970. The phone then reads a date that is 31 years too late, and nothing reports it.
public enum DateLens {
    /// Seconds from 1970 to 2001-01-01 00:00 UTC, where Swift's default coding begins.
    public static let referenceSeconds: Int64 = 978_307_200
    /// A number counts as a date if one of its readings is in these years.
    public static let years: ClosedRange<Int64> = 2_015...2_040
    /// Maximum number of findings of one content-state. The others are left out.
    public static let findingsMax = 16

    /// What a value was probably meant to be: the reading in a plausible year.
    public enum Meaning: String, Equatable, Sendable {
        /// Swift's default coding reads the number as intended.
        case secondsSince2001
        /// Swift's default coding reads the number as a date 31 years too late.
        case secondsSince1970
        /// Milliseconds, as JavaScript counts. Swift's default coding reads a year far away.
        case millisecondsSince1970
        /// Text: in ISO 8601, or digits in quotes. Swift's default coding decodes no date from text.
        case text
        /// The app's type says that the value is a date, and no reading is in a plausible year.
        case farAway
    }

    /// One value and its readings.
    public struct Finding: Equatable, Sendable {
        /// The value's path, such as `driver.eta` or `legs[0].at`.
        public var path: String
        /// The number or text as spelt.
        public var spelling: String
        /// What the value was probably meant to be.
        public var meaning: Meaning
        /// The value read as seconds since 1970, in UTC; `nil`: its year is beyond the calendar's range.
        public var since1970: String?
        /// The value read as seconds since 2001, in UTC, as Swift's default coding reads a `Date`; `nil`: its year is
        /// beyond the calendar's range.
        public var since2001: String?
        /// How Swift's default coding reads the value, and what to send instead if that is not what was meant.
        public var advice: String
        /// The number to send if this is a `Date`: seconds since 2001; `nil`: not known.
        public var sendSeconds: Int64?
        /// The date that a phone reads, seconds since 1970; `nil`: it reads none.
        public var momentSeconds: Int64?
        /// Whether the value is in the `attributes` of a start. Its path then begins with `attributes`.
        public var isInAttributes = false
        /// Whether the text names no zone, so that `sendSeconds` takes it for UTC.
        public var isTakenAsUTC = false
        /// What to send, such as `817491900`, and whether that is a guess about the zone; `nil`: not known.
        public var sendText: String? {
            self.sendSeconds.map { "\($0)\(self.isTakenAsUTC ? DateLens.takenAsUTC : "")" }
        }
        /// Whether an app that decodes a `Date` here reads another date than was meant.
        public var isTrouble: Bool { self.meaning != .secondsSince2001 }
    }

    /// Every value that looks like a date, in order.
    /// - Parameter schema: what the app's type says. The dates of a Swift type are exact; `nil`: not known.
    public static func findings(in content: JSONTree, schema: ContentSchema? = nil) -> [Finding] {
        var findings: [Finding] = []
        Self.visit(content, path: "", schema?.shape, isExact: schema?.source == .swift, &findings)
        return findings
    }

    /// Every value in the `attributes` of a start that looks like a date, in order. Each path begins with `attributes`.
    /// - Parameter schema: what the app's types say. It is exact if the Swift source has the `ActivityAttributes`;
    ///   `nil`: not known.
    public static func findings(inAttributes attributes: JSONTree, schema: ContentSchema? = nil) -> [Finding] {
        var findings: [Finding] = []
        let shape = schema?.attributes?.shape
        Self.visit(attributes, path: "attributes", shape, isExact: shape != nil, &findings)
        for index in findings.indices { findings[index].isInAttributes = true }
        return findings
    }

    /// What follows the number to send for a text without a zone.
    static let takenAsUTC = " (taken as UTC)"

    /// What to send for a date that a server wrote as text, seconds since 2001; `nil`: the text is no date.
    /// - Returns: the seconds, and whether the text names no zone, so that it was taken for UTC.
    static func sent(for text: String) -> (seconds: Int64, isTakenAsUTC: Bool)? {
        guard let seconds = Self.seconds2001(ofText: text) else {
            return Self.seconds2001(ofDigits: text).map { ($0, false) }
        }
        let hasZone = text.contains { $0 == "Z" || $0 == "z" || $0 == "+" } || text.dropFirst(10).contains("-")
        return (seconds, !hasZone)
    }

    /// What to send for a moment in ISO 8601, seconds since 2001; `nil`: the text is not such a moment in a plausible
    /// year.
    static func seconds2001(ofText text: String) -> Int64? {
        guard
            let found = try?
                /(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?:[Zz]|([+-])(\d\d):?(\d\d))?/
                .wholeMatch(in: text)
        else { return nil }
        func number(_ digits: Substring?) -> Int64 { digits.flatMap { Int64($0) } ?? 0 }
        let parts = found.output
        guard (1...12).contains(number(parts.2)), (1...31).contains(number(parts.3)), number(parts.4) < 24 else {
            return nil
        }
        let offset = (number(parts.8) * 60 + number(parts.9)) * (parts.7 == "-" ? -60 : 60)
        let seconds =
            CivilTime.seconds(year: number(parts.1), month: number(parts.2), day: number(parts.3))
            + number(parts.4) * 3_600 + number(parts.5) * 60 + number(parts.6) - offset
        return Self.isOfOurYears(seconds) ? seconds - Self.referenceSeconds : nil
    }

    /// What to send for a moment since 1970 whose digits are in quotes; `nil`: the text is not such a moment. Digits
    /// that count from 2001 are not taken for a moment, because many order numbers have as many digits.
    static func seconds2001(ofDigits text: String) -> Int64? {
        guard [10, 13].contains(text.utf8.count), text.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let value = Double(text), let found = Self.finding(value, spelling: text, path: ""), found.isTrouble
        else { return nil }
        return found.sendSeconds
    }

    private static func visit(
        _ tree: JSONTree, path: String, _ shape: ContentSchema.Shape?, isExact: Bool, _ findings: inout [Finding]
    ) {
        guard findings.count < Self.findingsMax else { return }
        func below(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
        switch tree {
        case .object(let members):
            for member in members {
                Self.visit(
                    member.value, path: below(member.name), shape?.member(member.name), isExact: isExact, &findings)
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                Self.visit(element, path: "\(path)[\(index)]", shape?.items.first, isExact: isExact, &findings)
            }
        case .number(let spelling):
            let isDate = shape?.isDate ?? false
            guard isDate || !isExact, let value = tree.double else { break }
            let found = Self.finding(value, spelling: spelling, path: path, isDate: isDate)
            let far = isDate ? Self.farAway(value, spelling: spelling, path: path) : nil
            if let finding = found ?? far { findings.append(finding) }
        case .string(let text):
            // A value that the app reads as text is not a date.
            guard shape.map({ $0.kinds.isEmpty }) ?? !isExact,
                let sent = Self.sent(for: text)
            else { break }
            var finding = Finding(
                path: path, spelling: text, meaning: .text, since1970: nil, since2001: nil, advice: "",
                sendSeconds: sent.seconds, momentSeconds: nil, isTakenAsUTC: sent.isTakenAsUTC)
            finding.advice =
                "A Date in Swift does not decode text. If this is a Date, your app shows nothing of this push: "
                + "send \(finding.sendText ?? "")."
            findings.append(finding)
        case .bool, .null: break
        }
    }

    /// - Parameter isDate: whether the app is known to decode a `Date` here.
    private static func finding(_ value: Double, spelling: String, path: String, isDate: Bool = false) -> Finding? {
        // Beyond these values no reading has a year in range, and a conversion could trap.
        guard value >= 0, value < 4e12 else { return nil }
        let seconds = Int64(value)
        let meaning: Meaning
        if Self.isOfOurYears(seconds) {
            meaning = .secondsSince1970
        } else if Self.isOfOurYears(seconds + Self.referenceSeconds) {
            meaning = .secondsSince2001
        } else if Self.isOfOurYears(seconds / 1_000) {
            meaning = .millisecondsSince1970
        } else {
            return nil
        }
        let onThePhone = Self.reading(seconds + Self.referenceSeconds)
        return Finding(
            path: path, spelling: spelling, meaning: meaning, since1970: Self.reading(seconds),
            since2001: onThePhone, advice: Self.advice(meaning, seconds: seconds, isDate: isDate),
            sendSeconds: Self.sendSeconds(meaning, seconds: seconds),
            momentSeconds: seconds + Self.referenceSeconds)
    }

    private static func farAway(_ value: Double, spelling: String, path: String) -> Finding {
        let seconds = abs(value) < 4e12 ? Int64(value) + Self.referenceSeconds : nil
        let year = seconds.map { "the year \(CivilTime(secondsSince1970: $0).year)" } ?? "no year of a calendar"
        return Finding(
            path: path, spelling: spelling, meaning: .farAway, since1970: nil, since2001: seconds.flatMap(Self.reading),
            advice: "The app decodes a Date here, and reads \(year): it counts seconds from 2001.",
            sendSeconds: nil, momentSeconds: seconds)
    }

    private static func sendSeconds(_ meaning: Meaning, seconds: Int64) -> Int64 {
        switch meaning {
        case .millisecondsSince1970: seconds / 1_000 - Self.referenceSeconds
        case .secondsSince1970: seconds - Self.referenceSeconds
        case .secondsSince2001, .text, .farAway: seconds
        }
    }

    private static func advice(_ meaning: Meaning, seconds: Int64, isDate: Bool) -> String {
        let send = Self.sendSeconds(meaning, seconds: seconds)
        let year = CivilTime(secondsSince1970: seconds + Self.referenceSeconds).year
        switch meaning {
        case .secondsSince2001: return "This is right for a Date in Swift."
        case .secondsSince1970:
            return isDate
                ? "The app decodes a Date here, and reads the year \(year), because it counts from 2001: send \(send)."
                : "A Date in Swift reads the year \(year), because it counts from 2001. If this is a Date, send \(send)."
        case .millisecondsSince1970:
            let moment = CivilTime(secondsSince1970: seconds / 1_000).minuteText
            let looks = "This looks like milliseconds since 1970 (\(moment)). "
            return isDate
                ? looks + "The app decodes a Date here, and reads the year \(year): it counts seconds from 2001. "
                    + "Send \(send)."
                : looks + "A Date in Swift reads the year \(year), because it counts seconds from 2001. "
                    + "If this is a Date, send \(send)."
        case .text, .farAway: return ""
        }
    }

    private static func isOfOurYears(_ seconds: Int64) -> Bool {
        Self.years.contains(CivilTime(secondsSince1970: seconds).year)
    }

    private static func reading(_ seconds: Int64) -> String? {
        let time = CivilTime(secondsSince1970: seconds)
        return time.year <= 9_999 ? time.text : nil
    }
}

extension DateLens.Finding {
    /// The finding as JSON for the page and the API.
    public var json: JSONTree {
        [
            "path": .string(self.path), "value": .string(self.spelling), "meaning": .string(self.meaning.rawValue),
            "asSecondsSince1970": .optional(self.since1970), "asSecondsSince2001": .optional(self.since2001),
            "advice": .string(self.advice), "isTrouble": .bool(self.isTrouble),
            "momentSeconds": self.momentSeconds.map { .integer($0) } ?? .null,
        ]
    }
}
