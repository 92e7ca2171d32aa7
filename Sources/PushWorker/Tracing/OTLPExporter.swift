import Foundation
import Logging
import NIOPosix
import PushTransport
import ServiceLifecycle
import Synchronization

/// Sends the spans of a `SpanQueue` to a collector, one batch after the other. Runs outside of the shards' loops.
///
/// A batch that the collector cannot take now is sent again, each time after a longer wait. Meanwhile spans wait in the
/// queue, and new spans are dropped when the queue is full.
struct OTLPExporter: Sendable {
    /// How long spans gather before the queue is emptied, so that one request carries many of them.
    static let gatherMillis: Int64 = 1_000
    /// Maximum number of spans in one request, which then has about 500 kB.
    static let batchSpanCountMax = 512
    /// The first wait, in milliseconds, before a request is sent again. Each further wait is twice as long, with
    /// jitter.
    static let backoffMinMillis: Int64 = 1_000
    /// The longest wait before a request is sent again, also if `retry-after` asks for a longer one.
    static let backoffMaxMillis: Int64 = 30_000
    /// Maximum number of attempts for a batch. They take about three minutes. Then the batch is dropped.
    static let attemptsMax = 10
    /// How long the exporter tries to send the remaining spans when it ends.
    static let farewellMillisMax: Int64 = 5_000

    let spans: SpanQueue
    let logger: Logger
    private let complaint = RepeatedComplaint()
    private let client: OTLPClient

    init(_ client: OTLPClient, spans: SpanQueue, logger: Logger) {
        self.client = client
        self.spans = spans
        self.logger = logger
    }

    /// Exports until graceful shutdown or cancellation.
    func run() async {
        self.logger.info("traces are exported", metadata: ["endpoint": "\(self.client.endpoint.shown)"])
        try? await cancelWhenGracefulShutdown {
            for await _ in self.spans.filled {
                try await Task.sleep(for: .milliseconds(Self.gatherMillis))
                try await self.exportAll()
            }
        }
        await self.bidFarewell()
        self.client.close()
    }

    /// Sends the remaining spans. Each batch gets one attempt.
    private func bidFarewell() async {
        // The task is detached, because the task that runs this may be cancelled already.
        let last = Task.detached {
            while !Task.isCancelled {
                let batch = self.spans.take(max: Self.batchSpanCountMax)
                guard !batch.isEmpty else { return }
                if case .notNow = await self.request(batch) { self.drop(batch.count) }
            }
        }
        let limit = Task.detached {
            try? await Task.sleep(for: .milliseconds(Self.farewellMillisMax))
            last.cancel()
        }
        await last.value
        limit.cancel()
        self.drop(self.spans.take(max: .max).count)
    }

    private func exportAll() async throws {
        while true {
            let batch = self.spans.take(max: Self.batchSpanCountMax)
            guard !batch.isEmpty else { return }
            try await self.export(batch)
        }
    }

    /// Sends a batch. If the task is cancelled while it waits for the next attempt, puts the batch back into the queue
    /// and throws.
    private func export(_ batch: [FinishedSpan]) async throws {
        var waitMillis = Self.backoffMinMillis
        for attempt in 1...Self.attemptsMax {
            guard case .notNow(let retryAfterSeconds) = await self.attempt(batch) else { return }
            guard attempt < Self.attemptsMax else { break }
            let asked = min(max(0, retryAfterSeconds ?? 0), Self.backoffMaxMillis / 1_000) * 1_000
            // Half of the wait is random, so that workers that were refused together do not return together.
            let drawn = waitMillis / 2 + Int64.random(in: 0...waitMillis / 2)
            do {
                try await Task.sleep(for: .milliseconds(max(asked, drawn)))
            } catch {
                self.spans.putBack(batch)
                throw error
            }
            waitMillis = min(Self.backoffMaxMillis, 2 * waitMillis)
        }
        self.drop(batch.count)
    }

    private enum Verdict {
        /// The batch needs no further attempt: it was taken, or it was refused for good and counted.
        case done
        case notNow(retryAfterSeconds: Int64?)
    }

    /// Makes one attempt and counts a final result. A request that has been sent is not cancelled when the worker
    /// stops, because its batch would be sent twice.
    private func attempt(_ batch: [FinishedSpan]) async -> Verdict {
        await Task.detached { await self.request(batch) }.value
    }

    private func request(_ batch: [FinishedSpan]) async -> Verdict {
        let answer: HTTPClientRequest.Answer
        do { answer = try await self.client.send(batch) } catch {
            self.failed(ConnectError.text(error))
            return .notNow(retryAfterSeconds: nil)
        }
        switch answer.status {
        case 200...299:
            let rejected = min(UInt64(batch.count), Self.rejectedSpanCount(answer.body))
            self.spans.count { counters in
                counters.spansExported += UInt64(batch.count) - rejected
                counters.spansDropped += rejected
            }
            if self.complaint.recovered() { self.logger.notice("traces are exported again") }
            return .done
        case 429, 502, 503, 504:
            self.failed("status \(answer.status)")
            return .notNow(retryAfterSeconds: answer.retryAfterSeconds)
        case 404, 405:
            self.failed("status \(answer.status): these spans are dropped; \(self.client.endpoint.pathHint)")
            self.drop(batch.count)
            return .done
        default:
            // Batches with other failures must not be sent again (OTLP specification, "Failures").
            self.failed("status \(answer.status): these spans are dropped")
            self.drop(batch.count)
            return .done
        }
    }

    /// Number of spans that the collector did not take, according to its answer: `{"partialSuccess": {"rejectedSpans":
    /// "3"}}`.
    static func rejectedSpanCount(_ body: [UInt8]) -> UInt64 {
        struct Answer: Decodable {
            struct Partial: Decodable {
                var rejectedSpans: UInt64 = 0

                enum CodingKeys: CodingKey { case rejectedSpans }

                init(from decoder: any Decoder) throws {
                    let fields = try decoder.container(keyedBy: CodingKeys.self)
                    // JSON of OTLP has 64-bit numbers as text or as numbers.
                    if let text = try? fields.decode(String.self, forKey: .rejectedSpans) {
                        self.rejectedSpans = UInt64(text) ?? 0
                    } else {
                        self.rejectedSpans = (try? fields.decode(UInt64.self, forKey: .rejectedSpans)) ?? 0
                    }
                }
            }
            var partialSuccess: Partial?
        }
        return (try? JSONDecoder().decode(Answer.self, from: Data(body)))?.partialSuccess?.rejectedSpans ?? 0
    }

    private func drop(_ count: Int) { self.spans.count { $0.spansDropped += UInt64(count) } }

    private func failed(_ cause: String) {
        self.spans.count { $0.exportsFailed += 1 }
        guard self.complaint.failed() else { return }
        self.logger.warning(
            "traces cannot be exported; trying again (reported once)",
            metadata: ["endpoint": "\(self.client.endpoint.shown)", "cause": "\(cause)"])
    }
}

/// Reports a lasting fault only when it begins and when it ends.
private final class RepeatedComplaint: Sendable {
    private let isFailing = Mutex(false)

    /// Remembers a failure.
    /// - Returns: whether the previous attempt succeeded.
    func failed() -> Bool {
        self.isFailing.withLock { isFailing in
            defer { isFailing = true }
            return !isFailing
        }
    }

    /// Remembers a success.
    /// - Returns: whether the previous attempt failed.
    func recovered() -> Bool {
        self.isFailing.withLock { isFailing in
            defer { isFailing = false }
            return isFailing
        }
    }
}
