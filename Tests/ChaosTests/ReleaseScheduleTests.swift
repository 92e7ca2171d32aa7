import Foundation
import Testing

@testable import ChaosTesting

struct ReleaseScheduleTests {
    private let schedule = ReleaseSchedule(
        former: URL(fileURLWithPath: "/former"), current: URL(fileURLWithPath: "/current"), workerCount: 3,
        durationMillis: 160_000)

    private func releases(_ millis: Int64) -> [String] {
        (0..<3).map { self.schedule.executable(worker: $0, atMillis: millis).lastPathComponent }
    }

    @Test func workersChangeOneAfterTheOther() {
        #expect(self.releases(0) == ["former", "former", "former"])
        #expect(self.releases(39_999) == ["former", "former", "former"])
        #expect(self.releases(40_000) == ["current", "former", "former"])
        #expect(self.releases(50_000) == ["current", "current", "former"])
        #expect(self.releases(60_000) == ["current", "current", "current"])
        #expect(self.releases(80_000) == ["former", "current", "current"])
        #expect(self.releases(119_999) == ["former", "former", "former"])
        #expect(self.releases(120_000) == ["current", "former", "former"])
    }
    @Test func inTheEndAllAreCurrent() {
        #expect(self.releases(160_000) == ["current", "current", "current"])
        #expect(self.releases(.max / 2) == ["current", "current", "current"])
    }
}
