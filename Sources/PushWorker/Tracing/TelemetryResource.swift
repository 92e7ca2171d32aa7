import Foundation

/// The worker's identity in traces and metrics: OpenTelemetry's resource.
struct TelemetryResource: Equatable, Sendable {
    /// Maximum number of attributes.
    static let attributeCountMax = 64

    /// One attribute; its value is a text.
    struct Attribute: Equatable, Sendable {
        var name: String
        var value: String
    }

    /// The attributes. The first three are `service.name`, `service.version` and `service.instance.id`.
    private(set) var attributes: [Attribute]

    /// A random instance id for this process, used if the settings contain none.
    private static let processID = UUID().uuidString.lowercased()

    /// Makes the attributes. `OTEL_SERVICE_NAME` overrides `OTEL_RESOURCE_ATTRIBUTES`, and both override the settings.
    init(_ settings: WorkerConfiguration.Tracing) {
        let environment = settings.environment
        func given(_ name: String) -> String? { environment.attributes.last { $0.name == name }?.value }
        self.attributes = [
            Attribute(name: "service.name", value: environment.serviceName ?? given("service.name") ?? "mailboat"),
            Attribute(name: "service.version", value: given("service.version") ?? MailboatVersion.current),
            Attribute(
                name: "service.instance.id",
                value: given("service.instance.id") ?? settings.instanceID ?? Self.processID),
        ]
        for attribute in environment.attributes where !self.attributes.contains(where: { $0.name == attribute.name }) {
            self.attributes.append(attribute)
        }
    }

    /// The attribute `service.name`.
    var serviceName: String { self.attributes[0].value }
    /// The attribute `service.version`.
    var serviceVersion: String { self.attributes[1].value }
    /// The attribute `service.instance.id`.
    var instanceID: String { self.attributes[2].value }
}

/// The name of this machine. In a container of Kubernetes it is the pod's name.
enum MachineName {
    /// The name of this machine; empty: it has none.
    static var current: String {
        var name = [CChar](repeating: 0, count: 256)
        guard gethostname(&name, name.count - 1) == 0 else { return "" }
        return String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
