// swift-tools-version: 6.2
import PackageDescription

/// What every target is compiled with. `strictlySafe` is added where no C library is touched: there, memory-unsafe code has to say `unsafe`.
let everyTarget: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .treatAllWarnings(as: .error),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
]
let pureTargets: Set<String> = [
    "PushModel", "APNSProtocol", "APNSPool", "PushEngine", "ShardLoop", "DeviceModel", "ChannelKeeping",
    "PushInspection",
]

let nio: [Target.Dependency] = [
    .product(name: "NIOCore", package: "swift-nio"),
    .product(name: "NIOPosix", package: "swift-nio"),
]
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let lifecycle: Target.Dependency = .product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let hummingbird: Target.Dependency = .product(name: "Hummingbird", package: "hummingbird")
let histogram: Target.Dependency = .product(name: "Histogram", package: "hdrhistogram-swift")
let argumentParser: Target.Dependency = .product(name: "ArgumentParser", package: "swift-argument-parser")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")
let http: Target.Dependency = .product(name: "NIOHTTP1", package: "swift-nio")
let deque: Target.Dependency = .product(name: "DequeModule", package: "swift-collections")

/// What the page of `mailboat dev` is made of: each is embedded in the program.
let pageFiles = [
    "address.js", "audiences.css", "audiences.js", "budget.css", "budget.js", "card.js", "channels.js", "choice.js",
    "entry.js", "faults.js", "hints.js", "keys.js", "layout.css", "layout.js", "page.html", "page.js", "phonelist.js",
    "phones.css",
    "phones.js", "publish.js", "remedies.js", "roving.js", "schemas.js", "search.js", "templates.js", "timeline.css",
    "timeline.js", "tokens.js",
]

let package = Package(
    name: "mailboat",
    products: [
        .executable(name: "mailboat", targets: ["mailboat"])
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.10.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-collections", from: "1.3.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.8.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", .upToNextMinor(from: "0.2.0")),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
    ],
    targets: [
        // What the processor can do and Swift has no word for. A header, nothing to link.
        .systemLibrary(name: "CProcessor"),

        // The C libraries, by pkg-config. Only the wrapper named after each imports it.
        .systemLibrary(name: "CNGHTTP2", pkgConfig: "libnghttp2", providers: [.apt(["libnghttp2-dev"])]),
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CRDKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),

        // What may be shown of what somebody gave.
        .target(name: "Redaction"),
        // Files that are read or written whole.
        .target(name: "LocalFiles", dependencies: ["Redaction"]),

        // Pure: no socket, clock, lock, logger or global randomness.
        .target(name: "PushModel", dependencies: ["CProcessor"]),
        .target(name: "APNSProtocol", dependencies: ["PushModel"]),
        .target(name: "APNSPool", dependencies: ["PushModel", "APNSProtocol"]),
        .target(name: "ChannelKeeping", dependencies: ["PushModel", "APNSProtocol"]),
        .target(
            name: "PushEngine", dependencies: ["CProcessor", "PushModel", "APNSProtocol", "ChannelKeeping", deque]),
        .target(name: "ShardLoop", dependencies: ["PushEngine", "APNSProtocol", "PushModel"]),
        .target(name: "DeviceModel"),
        .target(name: "PushInspection", dependencies: ["PushModel", "DeviceModel"]),

        // Wrappers around the C libraries.
        .target(name: "HTTP2Session", dependencies: ["CNGHTTP2"]),
        .target(name: "TLSSession", dependencies: ["COpenSSL", "Redaction"]),
        .target(name: "KafkaLog", dependencies: ["CRDKafka", "Redaction"]),

        // Runners: I/O that carries out what the pure targets decide.
        .target(
            name: "PushTransport",
            dependencies: [
                "APNSPool", "APNSProtocol", "PushModel", "HTTP2Session", "TLSSession", "LocalFiles", "Redaction",
                logging,
            ] + nio),
        // Why an address cannot be listened on, for a person; and who is let in where no password is asked for.
        .target(name: "Listening", dependencies: ["Redaction", hummingbird] + nio),
        // Ports in front of the brokers of an embedded Kafka, and what Java's client has to hear from those brokers.
        .target(name: "KafkaForwarding", dependencies: ["Listening"] + nio),
        // How the pages look that a program serves, and what their scripts draw with: texts.
        .target(name: "PageStyle", resources: [.embedInCode("elements.js"), .embedInCode("style.css")]),
        .target(
            name: "PushWorker",
            dependencies: [
                "PageStyle",
                "PushTransport", "KafkaLog", "ShardLoop", "PushEngine", "APNSPool", "APNSProtocol", "PushModel",
                "TLSSession", deque, logging, coreMetrics, tracing, lifecycle, hummingbird, http,
                "LocalFiles", "Listening", "Redaction",
                .product(name: "Yams", package: "Yams"),
            ] + nio,
            resources: [
                .embedInCode("Admin/admin.openapi.json"), .embedInCode("Admin/Page/worker.html"),
                .embedInCode("Admin/Page/worker.js"),
            ]),
        .target(
            name: "APNSSimulator",
            dependencies: [
                "DeviceModel", "PushModel", "APNSProtocol", "HTTP2Session", "LocalFiles", "Listening", "Redaction",
                "TLSSession", logging, hummingbird, lifecycle,
            ]
                + nio),
        // The page of `mailboat dev`: what it serves and what it watches. Its decisions are those of `PushInspection`.
        .target(
            name: "DevPage",
            dependencies: [
                "PageStyle", "PushInspection", "PushModel", "DeviceModel", "PushEngine", "PushWorker", "APNSSimulator",
                "KafkaLog", "Listening", logging, lifecycle, hummingbird,
            ] + nio,
            resources: pageFiles.map { .embedInCode("Page/\($0)") }),
        // What every program on a command line needs: its streams, its failures, which cluster it is to reach.
        .target(
            name: "CommandSupport",
            dependencies: ["PushWorker", "KafkaLog", "PushModel", "LocalFiles", "Redaction", argumentParser]),
        // The service upstream of a worker: what it publishes, and what may become of each event. For the demo and the tests.
        .target(name: "Upstream", dependencies: ["CommandSupport", "KafkaLog", "PushModel"]),
        .executableTarget(
            name: "mailboat",
            dependencies: [
                "CommandSupport", "Upstream", "PushWorker", "PushTransport", "APNSPool", "APNSSimulator", "KafkaLog",
                "KafkaForwarding", "PushEngine", "ChannelKeeping", "DevPage", "PushInspection",
                "APNSProtocol", "PushModel", "DeviceModel", "LocalFiles", "Listening", "Redaction", "TLSSession",
                metrics, logging, tracing,
                lifecycle, hummingbird,
                histogram, argumentParser,
            ] + nio),

        // The macro benchmark: `make bench`. Raw librdkafka is one of the things it measures.
        .executableTarget(
            name: "mailboat-bench",
            dependencies: [
                "CommandSupport", "PushWorker", "PushTransport", "ShardLoop", "PushEngine", "APNSPool", "APNSProtocol",
                "PushModel", "HTTP2Session", "KafkaLog", "LocalFiles", "TLSSession", "APNSSimulator", "CRDKafka",
                logging, lifecycle, histogram, argumentParser,
            ] + nio,
            path: "Benchmarks/Macro", exclude: ["Counted/thresholds.json"]),

        .testTarget(name: "RedactionTests", dependencies: ["Redaction"]),
        .testTarget(name: "ListeningTests", dependencies: ["Listening"]),
        .testTarget(name: "PushModelTests", dependencies: ["PushModel"]),
        .testTarget(name: "APNSProtocolTests", dependencies: ["APNSProtocol", "PushModel"]),
        // The engine for one thing: in the simulation its gates hold back the apps whose topic APNs refuses.
        .testTarget(name: "APNSPoolTests", dependencies: ["APNSPool", "PushEngine", "APNSProtocol", "PushModel"]),
        .testTarget(name: "ChannelKeepingTests", dependencies: ["ChannelKeeping", "PushModel", "APNSProtocol"]),
        .testTarget(
            name: "PushEngineTests",
            dependencies: ["PushEngine", "ChannelKeeping", "APNSProtocol", "PushModel", "DeviceModel"]),
        .testTarget(name: "ShardLoopTests", dependencies: ["ShardLoop", "PushEngine", "APNSProtocol", "PushModel"]),
        .testTarget(name: "DeviceModelTests", dependencies: ["DeviceModel"]),
        .testTarget(
            name: "DevPageTests",
            dependencies: ["DevPage", "DeviceModel", "KafkaLog", "PageStyle", "PushInspection", "PushModel"]),
        .testTarget(name: "PushInspectionTests", dependencies: ["PushInspection", "PushModel", "DeviceModel"]),
        .testTarget(name: "HTTP2SessionTests", dependencies: ["HTTP2Session", "PushModel"]),
        .testTarget(name: "TLSSessionTests", dependencies: ["TLSSession", "PushModel"]),
        .testTarget(name: "KafkaLogTests", dependencies: ["KafkaLog"]),
        .testTarget(name: "KafkaForwardingTests", dependencies: ["KafkaForwarding", "KafkaLog", "Listening"] + nio),
        .testTarget(
            name: "PushTransportTests",
            dependencies: [
                "PushTransport", "APNSPool", "PushModel", "APNSProtocol", "APNSSimulator", "DeviceModel",
                "HTTP2Session", "TLSSession", logging, .product(name: "NIOEmbedded", package: "swift-nio"),
            ] + nio),
        // Secrets that are given where they do not belong, and looked for in all that is written.
        .target(name: "SecretHunting", path: "Tests/SecretHunting"),
        // A collector of traces, for the tests.
        .target(name: "TraceCollecting", dependencies: [http] + nio, path: "Tests/TraceCollecting"),
        .testTarget(
            name: "PushWorkerTests",
            dependencies: [
                "PushWorker", "ShardLoop", "PushEngine", "APNSPool", "APNSProtocol", "PushModel", "PushTransport",
                "KafkaLog", "APNSSimulator", "DeviceModel", "HTTP2Session", "TLSSession", "TraceCollecting",
                "SecretHunting", logging, coreMetrics, tracing,
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
            ] + nio),
        .testTarget(
            name: "APNSSimulatorTests",
            dependencies: [
                "APNSSimulator", "ChildProcesses", "APNSProtocol", "DeviceModel", "PushModel", "HTTP2Session",
                "TLSSession",
            ] + nio),
        // The simulated world, for the tests and for `make simulate`.
        .target(
            name: "Simulation",
            dependencies: ["ShardLoop", "PushEngine", "ChannelKeeping", "APNSProtocol", "PushModel", "DeviceModel"],
            path: "Tests/Simulation"),
        .executableTarget(name: "simulate", dependencies: ["Simulation"], path: "Tests/Simulate"),
        .testTarget(
            name: "SimulationTests", dependencies: ["Simulation"], exclude: ["README.md", "mutations.py", "weaving.py"]),
        // Mutated inputs for whatever reads strangers' bytes, for the tests and for `make fuzz`.
        .target(
            name: "Fuzzing",
            dependencies: ["PushWorker", "PushEngine", "PushModel", "APNSProtocol", "HTTP2Session", "KafkaForwarding"]
                + nio,
            path: "Tests/Fuzzing"),
        .executableTarget(name: "fuzz", dependencies: ["Fuzzing"], path: "Tests/Fuzz"),
        .testTarget(name: "FuzzTests", dependencies: ["Fuzzing"]),
        // Processes of `mailboat`, steered and asked from outside.
        .target(
            name: "ChildProcesses", dependencies: ["CommandSupport", "KafkaLog", "PushWorker"] + nio,
            path: "Tests/ChildProcesses"),
        // Real processes under faults and the judge of what came of it, for the tests and for `make chaos`.
        .target(
            name: "ChaosTesting",
            dependencies: [
                "ChildProcesses", "CommandSupport", "Upstream", "PushWorker", "APNSSimulator", "KafkaLog", "PushModel",
                "DeviceModel", "TraceCollecting",
            ],
            path: "Tests/ChaosTesting", exclude: ["README.md"]),
        .executableTarget(
            name: "chaos",
            dependencies: [
                "ChaosTesting", "ChildProcesses", "CommandSupport", "KafkaLog", "TLSSession", "TraceCollecting",
                argumentParser,
            ],
            path: "Tests/Chaos"),
        .testTarget(
            name: "ChaosTests",
            dependencies: [
                "ChaosTesting", "Upstream", "APNSSimulator", "KafkaLog", "PushModel", "DeviceModel", "TraceCollecting",
            ]),
        .testTarget(
            name: "EndToEndTests",
            dependencies: [
                "mailboat", "ChildProcesses", "CommandSupport", "Upstream", "PushWorker", "APNSSimulator", "KafkaLog",
                "PushEngine", "APNSProtocol", "PushModel", "DeviceModel", "TLSSession", "HTTP2Session", "DevPage",
                "PushInspection", "SecretHunting", "TraceCollecting", logging, lifecycle,
            ]),
        .testTarget(
            name: "BenchmarkTests", dependencies: ["mailboat-bench", "KafkaLog", histogram, argumentParser]),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "mailboat", "chaos", "ChildProcesses", "CommandSupport", "Upstream", "PushWorker", "APNSSimulator",
                "KafkaLog", "PushEngine", "ChannelKeeping", "APNSProtocol", "PushModel", "DeviceModel", "TLSSession",
                "SecretHunting", argumentParser,
            ]),
        .testTarget(name: "TidyTests", exclude: ["house.json", "house.py"]),
    ]
)

/// Every package that a build resolves to, indirect ones too, in the version that releases are made of. `MAILBOAT_EXACT=1` takes these and no others.
/// Ordinary builds take the ranges above, and whatever is newest in them.
let exactVersions: [(url: String, version: Version)] = [
    ("https://github.com/apple/swift-algorithms.git", "1.2.1"),
    ("https://github.com/apple/swift-argument-parser", "1.8.2"),
    ("https://github.com/apple/swift-asn1.git", "1.7.4"),
    ("https://github.com/apple/swift-async-algorithms.git", "1.1.4"),
    ("https://github.com/apple/swift-atomics.git", "1.3.0"),
    ("https://github.com/apple/swift-certificates.git", "1.21.1"),
    ("https://github.com/apple/swift-collections", "1.6.0"),
    ("https://github.com/apple/swift-configuration.git", "1.4.0"),
    ("https://github.com/apple/swift-crypto.git", "4.5.2"),
    ("https://github.com/apple/swift-distributed-tracing", "1.7.3"),
    ("https://github.com/apple/swift-http-structured-headers.git", "1.7.0"),
    ("https://github.com/apple/swift-http-types.git", "1.8.0"),
    ("https://github.com/apple/swift-log", "1.16.2"),
    ("https://github.com/apple/swift-metrics", "2.13.0"),
    ("https://github.com/apple/swift-nio", "2.101.2"),
    ("https://github.com/apple/swift-nio-extras.git", "1.35.2"),
    ("https://github.com/apple/swift-nio-http2.git", "1.46.0"),
    ("https://github.com/apple/swift-nio-ssl.git", "2.37.6"),
    ("https://github.com/apple/swift-nio-transport-services.git", "1.28.0"),
    ("https://github.com/apple/swift-numerics", "1.1.1"),
    ("https://github.com/apple/swift-service-context.git", "1.5.1"),
    ("https://github.com/apple/swift-system", "1.8.1"),
    ("https://github.com/HdrHistogram/hdrhistogram-swift", "0.2.0"),
    ("https://github.com/hummingbird-project/hummingbird", "2.28.1"),
    ("https://github.com/jpsim/Yams", "6.2.2"),
    ("https://github.com/swift-server/async-http-client.git", "1.37.0"),
    ("https://github.com/swift-server/swift-service-lifecycle", "2.13.0"),
]
if Context.environment["MAILBOAT_EXACT"] != nil {
    package.dependencies = exactVersions.map { .package(url: $0.url, exact: $0.version) }
}

/// Targets whose types lend bytes as `Span`s, or read lent ones: the lifetime annotations of such declarations are still behind this feature.
let lendingTargets: Set<String> = ["KafkaLog", "PushModel", "ChannelKeeping", "PushEngine", "ShardLoop"]

// `make test-core`: the pure targets, the simulation and their tests, which need no package but one. A build of its own, by `--scratch-path`.
if Context.environment["MAILBOAT_CORE"] != nil {
    let core = pureTargets.union([
        "CProcessor", "Simulation", "simulate", "PushModelTests", "APNSProtocolTests", "APNSPoolTests",
        "ChannelKeepingTests", "PushEngineTests", "ShardLoopTests", "DeviceModelTests", "PushInspectionTests",
        "SimulationTests", "TidyTests",
    ])
    package.products = []
    package.targets.removeAll { !core.contains($0.name) }
    package.dependencies = [.package(url: "https://github.com/apple/swift-collections", from: "1.3.0")]
}

for target in package.targets where target.type != .system {
    target.swiftSettings =
        everyTarget + (pureTargets.contains(target.name) ? [.strictMemorySafety()] : [])
        + (lendingTargets.contains(target.name) ? [.enableExperimentalFeature("Lifetimes")] : [])
}
