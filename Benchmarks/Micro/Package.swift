// swift-tools-version: 6.2
import PackageDescription

// A package of its own, so that building Mailboat builds no benchmark library.
let package = Package(
    name: "mailboat-micro",
    dependencies: [
        .package(name: "mailboat", path: "../.."),
        // Without its default traits: they need jemalloc.
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.30.0", traits: []),
    ],
    targets: [
        .executableTarget(
            name: "Parts",
            dependencies: [
                .product(name: "Benchmark", package: "benchmark"), .product(name: "PushEngine", package: "mailboat"),
                .product(name: "HTTP2Session", package: "mailboat"), .product(name: "TLSSession", package: "mailboat"),
            ],
            path: "Benchmarks/Parts",
            swiftSettings: [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)],
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")])
    ]
)
