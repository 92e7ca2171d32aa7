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
        /// Swift's default coding counts from the same year, but in seconds.
        case millisecondsSince2001
        case microsecondsSince1970
        case nanosecondsSince1970
        /// Text: a date, or digits in quotes. Swift's default coding decodes no date from text.
        case text
        /// The app's type says that the value is a date, and no reading is in a plausible year.
        case farAway

        /// The meanings of a number, the likeliest first. For any number, at most one of them gives a
        /// plausible year.
        fileprivate static let ofNumbers: [Self] = [
            .secondsSince1970, .secondsSince2001, .millisecondsSince1970, .millisecondsSince2001,
            .microsecondsSince1970, .nanosecondsSince1970,
        ]

        /// Whether a number with this meaning is almost always a date. Numbers with the other meanings have as many
        /// digits as identifiers and phone numbers.
        fileprivate var isCertain: Bool {
            [.secondsSince1970, .secondsSince2001, .millisecondsSince1970].contains(self)
        }

        /// How the number counts, in words, such as `milliseconds since 1970`; `a text` if it is none.
        public var words: String {
            switch self {
            case .secondsSince2001, .farAway: "seconds since 2001"
            case .secondsSince1970: "seconds since 1970"
            case .millisecondsSince1970: "milliseconds since 1970"
            case .millisecondsSince2001: "milliseconds since 2001"
            case .microsecondsSince1970: "microseconds since 1970"
            case .nanosecondsSince1970: "nanoseconds since 1970"
            case .text: "a text"
            }
        }

        /// The moment of a number that counts like this, seconds since 1970.
        fileprivate func moment(_ number: Int64) -> Int64 {
            switch self {
            case .secondsSince2001, .text, .farAway: number + DateLens.referenceSeconds
            case .secondsSince1970: number
            case .millisecondsSince1970: number / 1_000
            case .millisecondsSince2001: number / 1_000 + DateLens.referenceSeconds
            case .microsecondsSince1970: number / 1_000_000
            case .nanosecondsSince1970: number / 1_000_000_000
            }
        }
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
        /// The year that a phone reads; `nil`: it reads none.
        public var year: Int64? { self.momentSeconds.map { CivilTime(secondsSince1970: $0).year } }
        /// Whether an app that decodes a `Date` here does not get the date that was meant.
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

    /// The number to send in place of one that the app reads as another date than was meant, seconds since 2001; `nil`:
    /// the number is right, or no reading is in a plausible year.
    /// - Parameter isDate: whether the app has a date there, or the value's name says so.
    static func trouble(of value: Double, isDate: Bool) -> Int64? {
        guard let meaning = Self.meaning(of: value, isDate: isDate), meaning != .secondsSince2001 else { return nil }
        return meaning.moment(Int64(value)) - Self.referenceSeconds
    }

    private static func visit(
        _ tree: JSONTree, path: String, name: String = "", _ shape: ContentSchema.Shape?, isExact: Bool,
        _ findings: inout [Finding]
    ) {
        guard findings.count < Self.findingsMax else { return }
        func below(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
        switch tree {
        case .object(let members):
            for member in members {
                Self.visit(
                    member.value, path: below(member.name), name: member.name, shape?.member(member.name),
                    isExact: isExact, &findings)
            }
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                Self.visit(
                    element, path: "\(path)[\(index)]", name: name, shape?.items.first, isExact: isExact, &findings)
            }
        case .number(let spelling):
            let isDate = shape?.isDate ?? false
            guard isDate || !isExact, let value = tree.double else { break }
            if let meaning = Self.meaning(of: value, isDate: isDate || DateName.isOfDate(name)) {
                findings.append(Self.finding(meaning, Int64(value), spelling: spelling, path: path, isDate: isDate))
            } else if isDate {
                findings.append(Self.farAway(value, spelling: spelling, path: path))
            }
        case .string(let text):
            // A value that the app reads as text is not a date.
            guard shape.map({ $0.kinds.isEmpty }) ?? !isExact,
                let sent = DateText.sent(for: text, isDate: DateName.isOfDate(name))
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

    /// Larger numbers are not converted to a date: the year would have six digits.
    private static let momentSecondsMax = 4e12

    /// What the number was probably meant to be; `nil`: no reading is in a plausible year.
    /// - Parameter isDate: whether the app has a date there, or the value's name says so. Otherwise only meanings count
    ///   that are certain.
    private static func meaning(of value: Double, isDate: Bool) -> Meaning? {
        // Beyond these values no reading has a year in range, and a conversion could trap.
        guard value >= 0, value < 4e18 else { return nil }
        return Meaning.ofNumbers.first {
            (isDate || $0.isCertain) && Self.isOfOurYears($0.moment(Int64(value)))
        }
    }

    /// - Parameter isDate: whether the app is known to decode a `Date` here.
    private static func finding(
        _ meaning: Meaning, _ number: Int64, spelling: String, path: String, isDate: Bool
    ) -> Finding {
        let moment = number + Self.referenceSeconds
        return Finding(
            path: path, spelling: spelling, meaning: meaning, since1970: Self.reading(number),
            since2001: Self.reading(moment), advice: Self.advice(meaning, number, isDate: isDate),
            sendSeconds: meaning.moment(number) - Self.referenceSeconds,
            momentSeconds: Double(number) < Self.momentSecondsMax ? moment : nil)
    }

    private static func farAway(_ value: Double, spelling: String, path: String) -> Finding {
        let seconds = abs(value) < Self.momentSecondsMax ? Int64(value.rounded(.down)) + Self.referenceSeconds : nil
        let date = seconds.map { Self.reading($0) ?? "the year \(CivilTime(secondsSince1970: $0).year)" }
        return Finding(
            path: path, spelling: spelling, meaning: .farAway, since1970: nil, since2001: seconds.flatMap(Self.reading),
            advice: "The app decodes a Date here, and reads \(date ?? "no year of a calendar"): it counts seconds "
                + "from 2001.", sendSeconds: nil, momentSeconds: seconds)
    }

    private static func advice(_ meaning: Meaning, _ number: Int64, isDate: Bool) -> String {
        let moment = meaning.moment(number)
        let send = moment - Self.referenceSeconds
        let year = CivilTime(secondsSince1970: number + Self.referenceSeconds).year
        switch meaning {
        case .secondsSince2001: return "This is right for a Date in Swift."
        case .secondsSince1970:
            return isDate
                ? "The app decodes a Date here, and reads the year \(year), because it counts from 2001: send \(send)."
                : "A Date in Swift reads the year \(year), because it counts from 2001. If this is a Date, send \(send)."
        case .millisecondsSince1970, .millisecondsSince2001, .microsecondsSince1970, .nanosecondsSince1970:
            let looks = "This looks like \(meaning.words) (\(CivilTime(secondsSince1970: moment).minuteText)). "
            return isDate
                ? looks + "The app decodes a Date here, and reads the year \(year): it counts seconds from 2001. "
                    + "Send \(send)."
                : looks + "A Date in Swift reads the year \(year), because it counts seconds from 2001. "
                    + "If this is a Date, send \(send)."
        case .text, .farAway: return ""
        }
    }

    static func isOfOurYears(_ seconds: Int64) -> Bool {
        Self.years.contains(CivilTime(secondsSince1970: seconds).year)
    }

    private static func reading(_ seconds: Int64) -> String? {
        let time = CivilTime(secondsSince1970: seconds)
        return (1...9_999).contains(time.year) ? time.text : nil
    }
}

/// Says whether the name of a value says that the value is a date.
enum DateName {
    private static let words: Set<String> = [
        "date", "dates", "datetime", "time", "times", "timestamp", "day", "eta", "etd", "until", "deadline", "due",
        "expires", "expiry", "expiration", "since", "starts", "ends", "arrives", "arrival", "departs", "departure",
        "kickoff",
    ]
    /// Last words that say that the value is something else, whatever stands before.
    private static let others: Set<String> = ["id", "ids", "number", "phone", "code", "zone"]

    /// Whether a word of the name says that the value is a date, as in `estimatedDeliveryTime`, `starts_at` or `eta`.
    static func isOfDate(_ name: String) -> Bool {
        let words = name.replacing(/[a-z][A-Z]/) { "\($0.output.prefix(1)) \($0.output.suffix(1))" }
            .split { !$0.isLetter }.map { $0.lowercased() }
        guard let last = words.last, !Self.others.contains(last) else { return false }
        // “At” stands for a time only at the end, as in `arrivesAt`.
        return last == "at" || words.contains(where: Self.words.contains)
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
