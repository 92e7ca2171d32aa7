import Testing

@testable import PushWorker

/// Tests of how a worker uses OpenTelemetry's own variables.
struct OTelEnvironmentTests {
    private static func endpoint(_ variables: [String: String]) -> String? {
        let environment = OTelEnvironment(variables)
        #expect((environment.endpoint == nil) == (variables.isEmpty || !environment.warnings.isEmpty))
        return environment.endpoint.map { "\($0.authority)\($0.path)" }
    }

    /// The path for traces is appended to the general address. An address for traces alone has precedence, and is used
    /// unchanged.
    @Test(
        arguments: [
            ("http://collector:4318", nil, "collector:4318/v1/traces"), ("http://c:4318/", nil, "c:4318/v1/traces"),
            ("http://c/otlp//", nil, "c/otlp/v1/traces"), ("https://c/otlp?k=v", nil, "c/otlp/v1/traces?k=v"),
            ("http://c", "http://t:4318/x", "t:4318/x"), ("http://c", "https://t", "t/"), ("", "http://t/", "t/"),
            ("http://c:1/v1/traces", "", "c:1/v1/traces/v1/traces"),
        ] as [(String, String?, String)])
    func addresses(base: String, ofTraces: String?, expected: String) {
        var variables = ["OTEL_EXPORTER_OTLP_ENDPOINT": base]
        variables["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"] = ofTraces
        #expect(Self.endpoint(variables) == expected)
    }

    @Test func theSettingWins() throws {
        let environment = [
            "OTEL_EXPORTER_OTLP_ENDPOINT": "http://c:4318", "OTEL_EXPORTER_OTLP_CERTIFICATE": "/ca.pem",
            "OTEL_SERVICE_NAME": "pizza-push",
        ]
        let given = try Loading.load("tracing.otlp-endpoint: http://own:4318", environment: environment).tracing
        #expect(given.endpoint?.host == "own")
        let absent = try Loading.load(environment: environment).tracing
        #expect(absent.endpoint?.host == "c" && absent.otlpEndpoint == nil)
        #expect(absent.environment.certificateFile == "/ca.pem")
        #expect(try Loading.load().tracing.endpoint == nil)
    }

    @Test(arguments: [
        ["OTEL_SDK_DISABLED": "true"], ["OTEL_TRACES_EXPORTER": "none"], ["OTEL_TRACES_EXPORTER": "console"],
        ["OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"], ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"],
    ])
    func itMayBeOff(variables: [String: String]) {
        var variables = variables
        variables["OTEL_EXPORTER_OTLP_ENDPOINT"] = "http://c:4318"
        let environment = OTelEnvironment(variables)
        #expect(environment.endpoint == nil)
        #expect(environment.warnings.count == (variables.values.contains("grpc") ? 1 : 0))
        variables["OTEL_TRACES_EXPORTER"] = "console,otlp"
        variables["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"] = "http/protobuf"
        variables["OTEL_SDK_DISABLED"] = "no"
        #expect(OTelEnvironment(variables).endpoint != nil)
    }

    @Test func headerFields() {
        let both = OTelEnvironment([
            "OTEL_EXPORTER_OTLP_HEADERS": " Authorization = Bearer%20a%2Cb , x-tenant=pizza=1,, ",
            "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "",
        ])
        #expect(both.headers?.fields.map(\.name) == ["authorization", "x-tenant"])
        #expect(both.headers?.fields.map(\.value) == ["Bearer a,b", "pizza=1"])
        let own = OTelEnvironment([
            "OTEL_EXPORTER_OTLP_HEADERS": "a=b", "OTEL_EXPORTER_OTLP_TRACES_HEADERS": "c=d",
        ])
        #expect(own.headers?.fields.map(\.name) == ["c"])
    }

    @Test func theResource() {
        func resource(_ variables: [String: String], instance: String? = "host:9464") -> [String] {
            var settings = WorkerConfiguration.Tracing()
            settings.environment = OTelEnvironment(variables)
            settings.instanceID = instance
            return TelemetryResource(settings).attributes.map { "\($0.name)=\($0.value)" }
        }
        let version = "service.version=\(MailboatVersion.current)"
        #expect(resource([:]) == ["service.name=mailboat", version, "service.instance.id=host:9464"])
        #expect(
            resource([
                "OTEL_SERVICE_NAME": "pizza",
                "OTEL_RESOURCE_ATTRIBUTES": "service.name=no, service.instance.id = pod-7,a%3D=b%2Cc",
            ]) == ["service.name=pizza", version, "service.instance.id=pod-7", "a==b,c"])
        #expect(resource([:], instance: nil) == resource([:], instance: nil))
    }

    /// Variables with unusable values are reported without their values. They do not stop the worker.
    @Test(arguments: [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://user:s3cret@c"), ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "s3cret"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "s3cret"), ("OTEL_EXPORTER_OTLP_HEADERS", "host=s3cret"),
        ("OTEL_EXPORTER_OTLP_HEADERS", "a=s3cret%"), ("OTEL_EXPORTER_OTLP_HEADERS", "a=s3cret%00"),
        ("OTEL_RESOURCE_ATTRIBUTES", "a=b,s3cret"), ("OTEL_RESOURCE_ATTRIBUTES", "=s3cret"),
        ("OTEL_RESOURCE_ATTRIBUTES", "a=s3cret%zz"),
        ("OTEL_RESOURCE_ATTRIBUTES", (0...64).map { "a\($0)=s3cret" }.joined(separator: ",")),
    ])
    func whatCannotBeUsedIsNoted(name: String, value: String) throws {
        let loaded = try Loading.loaded(Loading.lines.joined(separator: "\n"), environment: [name: value])
        let note = try #require(loaded.warnings.first)
        #expect(note.contains(name) && note.contains("expected") || note.contains("visible ASCII"), "\(note)")
        #expect(!note.contains("s3cret") && !"\(loaded.configuration.tracing)".contains("s3cret"))
        #expect(loaded.configuration.tracing.environment.attributes.isEmpty)
    }
}
