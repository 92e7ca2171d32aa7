/// Reads texts that are a moment in a plausible year. Swift's default coding decodes no `Date` from text, so such a
/// text shows nothing if the app has a `Date` there.
enum DateText {
    /// What to send in place of the text, seconds since 2001; `nil`: the text is no moment in a plausible year.
    /// - Parameter isDate: whether the app has a date there, or the value's name says so. Otherwise only texts count
    ///   that can hardly be anything else.
    /// - Returns: the seconds, and whether the text names no zone, so that it was taken for UTC.
    static func sent(for text: String, isDate: Bool) -> (seconds: Int64, isTakenAsUTC: Bool)? {
        // Most texts are words, and are passed over quickly.
        guard text.utf8.count <= Self.byteCountMax, text.utf8.count(where: { (0x30...0x39).contains($0) }) >= 8
        else {
            return nil
        }
        if let seconds = Self.ofDigits(text, isDate: isDate) { return (seconds, false) }
        guard let moment = Self.ofISO8601(text) ?? Self.ofMail(text) ?? (isDate ? Self.ofDay(text) : nil),
            DateLens.isOfOurYears(moment.seconds)
        else { return nil }
        return (moment.seconds - DateLens.referenceSeconds, !moment.hasZone)
    }

    /// No moment is longer than this. A longer text is not looked at.
    private static let byteCountMax = 64

    /// A moment whose digits are in quotes. Digits that count from 2001 are not taken for a moment, because many order
    /// numbers have as many digits.
    private static func ofDigits(_ text: String, isDate: Bool) -> Int64? {
        guard text.wholeMatch(of: /\d{10}(?:\.\d+)?|\d{12}|\d{13}|\d{16}|\d{19}/) != nil, let value = Double(text)
        else {
            return nil
        }
        return DateLens.trouble(of: value, isDate: isDate)
    }

    /// ISO 8601 with a time of day, extended or basic, and what programs write like it: `2026-11-27T17:05:00Z`,
    /// `20261127T170500Z`, `2026-11-27 17:05:00 +0000`. Without a zone it is taken for UTC.
    private static func ofISO8601(_ text: String) -> (seconds: Int64, hasZone: Bool)? {
        let extended =
            /(\d{4})-(\d\d)-(\d\d)(?:[Tt]| )(\d\d):(\d\d)(?::(\d\d)(?:[.,]\d+)?)?(?: ?([Zz]|UTC|GMT|[+-]\d\d:?(?:\d\d)?))?(?: UTC|\[[^\]]+\])?/
        let basic = /(\d{4})(\d\d)(\d\d)[Tt](\d\d)(\d\d)(?:(\d\d)(?:[.,]\d+)?)?([Zz]|[+-]\d\d:?(?:\d\d)?)?/
        guard let parts = (text.wholeMatch(of: extended) ?? text.wholeMatch(of: basic))?.output else { return nil }
        return Self.seconds(
            year: parts.1, month: Int64(parts.2), day: parts.3, clock: (parts.4, parts.5, parts.6), zone: parts.7)
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// A moment as in the head of a mail (RFC 5322) or of an answer by HTTP: `Fri, 27 Nov 2026 17:05:00 +0000`.
    private static func ofMail(_ text: String) -> (seconds: Int64, hasZone: Bool)? {
        let form =
            /(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), )?(\d\d?) ([A-Z][a-z]{2}) (\d{4}) (\d\d):(\d\d)(?::(\d\d))? (GMT|UTC|UT|Z|[+-]\d{4})(?: \([A-Z]+\))?/
        guard let parts = text.wholeMatch(of: form)?.output,
            let month = Self.months.firstIndex(of: String(parts.2))
        else { return nil }
        return Self.seconds(
            year: parts.3, month: Int64(month) + 1, day: parts.1, clock: (parts.4, parts.5, parts.6), zone: parts.7)
    }

    /// A day alone, `2026-11-27`. It is taken for its beginning in UTC.
    private static func ofDay(_ text: String) -> (seconds: Int64, hasZone: Bool)? {
        guard let parts = text.wholeMatch(of: /(\d{4})-(\d\d)-(\d\d)/)?.output else { return nil }
        return Self.seconds(
            year: parts.1, month: Int64(parts.2), day: parts.3, clock: ("00", "00", nil), zone: nil)
    }

    /// Seconds since 1970; `nil`: the numbers are no date, or no time of day.
    /// - Parameter zone: the distance from UTC, such as `+01:00`; any other word means UTC.
    private static func seconds(
        year: Substring, month: Int64?, day: Substring, clock: (Substring, Substring, Substring?), zone: Substring?
    ) -> (seconds: Int64, hasZone: Bool)? {
        guard let year = Int64(year), let month, let day = Int64(day), let hour = Int64(clock.0),
            let minute = Int64(clock.1), (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60
        else { return nil }
        let second = clock.2.flatMap { Int64($0) } ?? 0
        let digits = (zone ?? "").filter(\.isNumber)
        let distance = (Int64(digits.prefix(2)) ?? 0) * 3_600 + (Int64(digits.dropFirst(2)) ?? 0) * 60
        let seconds =
            CivilTime.seconds(year: year, month: month, day: day) + hour * 3_600 + minute * 60 + second
            - (zone?.hasPrefix("-") == true ? -distance : distance)
        return (seconds, zone != nil)
    }
}
