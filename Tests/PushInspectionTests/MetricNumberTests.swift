import Testing

@testable import PushInspection

struct MetricNumberTests {
    @Test func seriesAreAddedUp() {
        let text = """
            # HELP mailboat_events_consumed_total Events.
            mailboat_events_consumed_total 12
            mailboat_pushes_answered_total{result="accepted",route="a"} 3
            mailboat_pushes_answered_total{result="accepted",route="b"} 4
            mailboat_pushes_answered_total{result="refused",route="b"} 1
            mailboat_events_consumed_totally 9
            broken
            """
        let numbers = MetricNumber.read(text)
        #expect(numbers.map(\.value) == ["12", "7", "1"])
        #expect(numbers.map(\.label) == ["Events taken from Kafka", "Pushes accepted", "Pushes refused"])
        #expect(MetricNumber.read("").isEmpty)
    }
}
