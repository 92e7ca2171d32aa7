import Foundation
import Redaction

/// Settings for traces, from the environment variables that OpenTelemetry defines for all programs (OpenTelemetry
/// specification, "Environment Variable Specification" and "OTLP Exporter Configuration"). The worker's own settings
/// override the collector, its header fields and its authorities. Pure.
///
/// These variables may be meant for other programs. So a variable that cannot be used only causes a warning.
struct OTelEnvironment: Equatable, Sendable {
    /// The collector's URL.
    private(set) var endpoint: HTTPEndpoint?
    /// Header fields for the collector.
    private(set) var headers: OTLPHeaders?
    /// A file of certificate authorities that are trusted instead of the system's.
    private(set) var certificateFile: String?
    private(set) var serviceName: String?
    /// Further attributes of the resource, in the order of the variable.
    private(set) var attributes: [TelemetryResource.Attribute] = []
    /// One sentence for each variable that cannot be used, with the reason and without its value.
    private(set) var warnings: [String] = []

    /// Settings of an empty environment.
    init() {}

    /// - Parameter variables: the process's variables; an empty one counts as missing.
    init(_ variables: [String: String]) {
        func value(_ name: String) -> String? { variables[name].flatMap { $0.isEmpty ? nil : $0 } }
        /// The variable `name` for traces. If it is not set, the general variable is used.
        func ofTraces(_ name: String) -> (name: String, text: String)? {
            for name in ["OTEL_EXPORTER_OTLP_TRACES_\(name)", "OTEL_EXPORTER_OTLP_\(name)"] {
                if let text = value(name) { return (name, text) }
            }
            return nil
        }
        self.serviceName = value("OTEL_SERVICE_NAME")
        if let text = value("OTEL_RESOURCE_ATTRIBUTES") { self.readAttributes(text) }
        self.certificateFile = ofTraces("CERTIFICATE")?.text
        if let headers = ofTraces("HEADERS") {
            do throws(OTLPHeaders.Fault) { self.headers = try OTLPHeaders(list: headers.text) } catch {
                self.warnings.append("\(headers.name) \(error); it is not used")
            }
        }
        guard value("OTEL_SDK_DISABLED")?.lowercased() != "true" else { return }
        if let exporters = value("OTEL_TRACES_EXPORTER"), !exporters.split(separator: ",").contains("otlp") { return }
        if let given = ofTraces("ENDPOINT") { self.readEndpoint(given, protocol: ofTraces("PROTOCOL")) }
    }

    private mutating func readEndpoint(
        _ given: (name: String, text: String), protocol spoken: (name: String, text: String)?
    ) {
        if let spoken, spoken.text.lowercased() == "grpc" {
            self.warnings.append(
                "\(spoken.name) is grpc, which is not supported: expected http/json, which most collectors take on port 4318; \(given.name) is not used"
            )
            return
        }
        let isOfTraces = given.name.contains("_TRACES_")
        self.endpoint =
            isOfTraces ? HTTPEndpoint(collectorAsGiven: given.text) : HTTPEndpoint(collectorBase: given.text)
        guard self.endpoint == nil else { return }
        self.warnings.append(
            "\(given.name) is \(ShownText.withheld(given.text)): expected a URL of http or https without a user, such as http://localhost:4318; it is not used"
        )
    }

    /// Reads `name=value`, separated by commas, each percent-encoded. If one item is wrong, none is used, as the
    /// specification says.
    private mutating func readAttributes(_ text: String) {
        var attributes: [TelemetryResource.Attribute] = []
        for part in text.split(separator: ",") where !part.allSatisfy(\.isWhitespace) {
            let sides = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                $0.trimmingBlanks.removingPercentEncoding
            }
            guard sides.count == 2, let name = sides[0], !name.isEmpty, let value = sides[1] else {
                self.warnings.append(
                    "OTEL_RESOURCE_ATTRIBUTES has no name=value in place \(attributes.count + 1): expected name=value, percent-encoded and separated by commas; it is not used"
                )
                return
            }
            attributes.append(TelemetryResource.Attribute(name: name, value: value))
        }
        guard attributes.count <= TelemetryResource.attributeCountMax else {
            self.warnings.append(
                "OTEL_RESOURCE_ATTRIBUTES names \(attributes.count) attributes: expected \(TelemetryResource.attributeCountMax) at most; it is not used"
            )
            return
        }
        self.attributes = attributes
    }
}

// A variable may contain header fields or other secrets.
extension OTelEnvironment: Redacted {}
