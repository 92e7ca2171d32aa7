import APNSProtocol
import ShardLoop

/// An APNs in memory that accepts every push. It takes pushes while `hasCredit` is set. Its answers are ready for the
/// next turn.
final class MemoryPushSide: PushSide {
    var hasCredit = true
    /// Number of pushes that were submitted.
    private(set) var pushCount = 0
    /// Bytes of the last body.
    private(set) var bodyByteCount = 0
    private var answers: [PushAnswer] = []
    /// A request that is reused for each push, as in the transport.
    private var request = PushRequest()

    var answerCount: Int { self.answers.count }

    func takeAnswers(into answers: inout [PushAnswer]) {
        guard !self.answers.isEmpty else { return }
        swap(&answers, &self.answers)
    }

    func submit(route: UInt16, max: Int, fill: (inout PushRequest) -> Bool) -> Int {
        guard self.hasCredit else { return 0 }
        // The request is moved to a local variable, because Swift checks each access to a class property for conflicts.
        var request = PushRequest()
        var answers: [PushAnswer] = []
        swap(&request, &self.request)
        swap(&answers, &self.answers)
        var count = 0
        while count < max, fill(&request) {
            answers.append(PushAnswer(id: request.id, result: .accepted, apnsMicros: 1_000))
            count += 1
        }
        self.bodyByteCount = request.body.count
        swap(&request, &self.request)
        swap(&answers, &self.answers)
        self.pushCount += count
        return count
    }

    /// Does nothing. The next turn asks for credit anyway.
    func wantsCredit(route: UInt16) {}
    func flush() {}
}
