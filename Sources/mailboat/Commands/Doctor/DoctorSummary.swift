/// The last lines of `mailboat doctor`: how many findings there are, and which checks were tried.
struct DoctorSummary {
    private let counts: [DoctorFinding.Level: Int]
    private let tried: Set<DoctorFinding.Check>
    private let isProbing: Bool

    /// Creates a summary.
    /// - Parameters:
    ///   - findings: all that was found.
    ///   - isProbing: whether pushes to an invalid token were wanted.
    init(_ findings: [DoctorFinding], isProbing: Bool) {
        self.counts = findings.reduce(into: [:]) { $0[$1.level, default: 0] += 1 }
        self.tried = Set(findings.map(\.check))
        self.isProbing = isProbing
    }

    /// Checks that need a push to APNs.
    private static let probing: Set<DoctorFinding.Check> = [.credentials, .clock]
    /// Checks of parts that a configuration need not have.
    private static let optional: Set<DoctorFinding.Check> = [.login, .tracing]

    /// Lines for standard error.
    var lines: [String] {
        let counts = DoctorFinding.Level.allCases.map { "\(self.counts[$0] ?? 0) \($0.rawValue)" }
        var lines = [counts.joined(separator: ", "), "tried: \(Self.list { self.tried.contains($0) })"]
        let missing = Set(DoctorFinding.Check.allCases).subtracting(self.tried).subtracting(Self.optional)
        let unwanted = self.isProbing ? [] : missing.intersection(Self.probing)
        let prevented = missing.subtracting(unwanted)
        if !prevented.isEmpty {
            lines.append("not tried: \(Self.list(prevented.contains)), because of what failed above")
        }
        if !unwanted.isEmpty {
            lines.append(
                "not tried: \(Self.list(unwanted.contains)): whether APNs accepts each key and bundle id, and this machine's clock"
            )
            lines.append("'mailboat doctor --config FILE --push-probe' tries them, with pushes that reach no phone")
        }
        return lines
    }

    private static func list(_ isListed: (DoctorFinding.Check) -> Bool) -> String {
        DoctorFinding.Check.allCases.filter(isListed).map(\.rawValue).joined(separator: ", ")
    }
}
