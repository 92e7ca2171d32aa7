/// The format of `/metrics`, as the scraper requested it in `accept`.
enum MetricsFormat: Equatable, Sendable {
    /// The Prometheus text format, version 0.0.4, for clients that do not request OpenMetrics.
    case prometheus
    /// OpenMetrics 1.0.0 (https://prometheus.io/docs/specs/om/open_metrics_spec/), or its draft 0.0.1, which scrapers
    /// also name.
    case openMetrics(version: String)

    var contentType: String {
        switch self {
        case .prometheus: "text/plain; version=0.0.4; charset=utf-8"
        case .openMetrics(let version): "application/openmetrics-text; version=\(version); charset=utf-8"
        }
    }

    /// The end of the page.
    var ending: String { self == .prometheus ? "" : "# EOF\n" }

    /// The format that a request's `accept` fields prefer (RFC 9110 §12.5.1). If the fields prefer OpenMetrics and
    /// plain text equally, it is OpenMetrics. If the fields cannot be read, it is plain text.
    /// - Parameter accept: the fields, joined by commas.
    static func preferred(accept: String?) -> Self {
        guard let accept else { return .prometheus }
        var best: (version: String, quality: Double)?
        var plainQuality = 0.0
        for range in accept.split(separator: ",").prefix(Self.rangesMax) {
            let parts = range.split(separator: ";").map { $0.lowercased().filter { !$0.isWhitespace } }
            guard let type = parts.first else { continue }
            func parameter(_ name: String) -> String? {
                parts.dropFirst().first { $0.hasPrefix(name + "=") }.map {
                    String($0.dropFirst(name.count + 1)).filter { $0 != "\"" }
                }
            }
            let quality = parameter("q").map { Double($0) ?? 0 } ?? 1
            switch type {
            case "application/openmetrics-text":
                let version = parameter("version") ?? "1.0.0"
                guard ["1.0.0", "0.0.1"].contains(version), quality > best?.quality ?? 0 else { continue }
                best = (version, quality)
            case "text/plain": plainQuality = max(plainQuality, quality)
            default: continue
            }
        }
        guard let best, best.quality >= plainQuality else { return .prometheus }
        return .openMetrics(version: best.version)
    }

    /// Maximum number of media ranges that are read. No scraper sends more.
    private static let rangesMax = 16
}
