/// A moment in UTC as a person reads it. Only the calendar: no time zones, no leap seconds.
public struct CivilTime: Equatable, Sendable {
    /// The year in the proleptic Gregorian calendar.
    public let year: Int64
    /// The month, 1...12.
    public let month: Int64
    /// The day of the month, 1...31.
    public let day: Int64
    private let secondOfDay: Int64

    /// Converts a moment.
    /// - Parameter secondsSince1970: within some thousands of years of today.
    public init(secondsSince1970: Int64) {
        let days = Self.floorDivide(secondsSince1970, 86_400)
        self.secondOfDay = secondsSince1970 - days * 86_400
        // Counts years that begin in March, in eras of 400 years: Howard Hinnant's `civil_from_days`.
        let shifted = days + 719_468
        let era = Self.floorDivide(shifted, 146_097)
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        self.day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
        self.month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        self.year = yearOfEra + era * 400 + (self.month <= 2 ? 1 : 0)
    }

    /// Seconds from 1970 to the beginning of a day.
    static func seconds(year: Int64, month: Int64, day: Int64) -> Int64 {
        // Howard Hinnant's `days_from_civil`.
        let shifted = month <= 2 ? year - 1 : year
        let era = Self.floorDivide(shifted, 400)
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return (era * 146_097 + dayOfEra - 719_468) * 86_400
    }

    /// Date and time, such as `2026-11-25 12:41:10 UTC`.
    public var text: String { "\(self.dayText) \(self.clockText) UTC" }

    /// Date and time without seconds, such as `2026-11-25 12:41 UTC`.
    var minuteText: String { "\(self.dayText) \(self.clockText.dropLast(3)) UTC" }

    private var dayText: String { "\(self.year)-\(Self.two(self.month))-\(Self.two(self.day))" }

    /// Time of day in UTC, such as `12:41:10`.
    public var clockText: String {
        [self.secondOfDay / 3_600, self.secondOfDay / 60 % 60, self.secondOfDay % 60].map(Self.two)
            .joined(separator: ":")
    }

    private static func two(_ value: Int64) -> String { value < 10 ? "0\(value)" : "\(value)" }

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
    }
}
