import ArgumentParser
import Configuration
import CoreMetrics
import DequeModule
import HeapModule
import Histogram
import Hummingbird
import Logging
import Metrics
import NIOCore
import NIOPosix
import ServiceLifecycle
import Tracing

@main
struct Mailboat: AsyncParsableCommand {
    func run() async throws {}
}
