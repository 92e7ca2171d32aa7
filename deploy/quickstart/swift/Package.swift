// swift-tools-version: 6.0
import PackageDescription

let package = Package(
    name: "publish",
    targets: [
        .systemLibrary(name: "CRDKafka", pkgConfig: "rdkafka", providers: [.apt(["librdkafka-dev"])]),
        .executableTarget(name: "publish", dependencies: ["CRDKafka"]),
    ]
)
