import PushEngine

/// The page `/activities/<key>`: what is known of an activity, and what it waits for.
struct ActivityPage: Sendable, Encodable {
    var report: ActivityReport
    var app: AppConfiguration
    /// What the activity waits for; `nil`: nothing waits.
    var waitsFor: ActivityWait?

    private enum CodingKeys: String, CodingKey { case waitsFor }

    /// Writes the fields of the report, and `waits-for`.
    func encode(to encoder: any Encoder) throws {
        try self.report.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encodeIfPresent(self.waitsFor, forKey: .waitsFor)
    }
}
