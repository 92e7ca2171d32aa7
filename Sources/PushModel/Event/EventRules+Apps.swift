/// The rejection of an event's app.
extension EventRules {
    /// Maximum number of configured apps that a rejection names.
    static let namedAppsMax = 5
    /// Maximum number of slips in a bundle id for which a rejection suggests another.
    private static let appSlipsMax = 2

    /// The rejection of an event that does not name its app, although several apps are configured.
    /// - Parameter count: number of configured apps.
    @inline(never)
    public static func missingApp(configuredCount count: Int) -> EventRejection {
        EventRejection(field: "app", reason: "is missing: expected a bundle id, as \(count) apps are configured")
    }

    /// The rejection of an app that is not configured. It names configured apps. If there are several, it also suggests
    /// one with a similar name.
    /// - Parameter configured: bundle ids of all configured apps.
    @inline(never)
    public static func unknownApp(_ given: Span<UInt8>, configured: [String]) -> EventRejection {
        func shown(_ bundleID: String) -> String {
            RejectionText.quoted(Array(bundleID.utf8).span, byteCountMax: 80)
        }
        let named = configured.prefix(Self.namedAppsMax).map(shown).joined(separator: ", ")
        let rest = configured.count - Self.namedAppsMax
        var bytes: [UInt8] = []
        bytes.append(copying: given.extracting(first: 256))
        // Bundle ids whose lengths differ too much are not compared, so that a flood of foreign events costs little.
        let near = configured.first { bundleID in
            abs(bundleID.utf8.count - bytes.count) <= Self.appSlipsMax
                && FieldSuggestion.slips(bytes, Array(bundleID.utf8)) <= Self.appSlipsMax
        }
        return EventRejection(
            field: "app",
            reason: "\"\(RejectionText.quoted(given, byteCountMax: 80))\" is not configured in this worker: expected "
                + (configured.count > 1 ? "one of " : "") + named + (rest > 0 ? " and \(rest) more" : "")
                + (configured.count > 1 ? near.map { "; did you mean \(shown($0))?" } ?? "" : ""))
    }
}
