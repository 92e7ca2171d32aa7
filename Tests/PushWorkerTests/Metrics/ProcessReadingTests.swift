import Glibc
import Testing

@testable import PushWorker

struct ProcessReadingTests {
    /// The system's numbers for this process are plausible. A wrong unit would exceed the bounds.
    @Test func itSaysWhatTheSystemSays() {
        let reading = ProcessReading.now()
        #expect(reading.cpuSeconds > 0 && reading.cpuSeconds < 1e6)
        #expect(reading.residentByteCount > 1 << 20 && reading.residentByteCount < 1 << 40)
        #expect(reading.threadCount >= 1 && reading.threadCount < 10_000)
        #expect(reading.openFileCountMax > reading.openFileCount && reading.openFileCount >= 3)
        let now = Double(time(nil))
        #expect(reading.startedSeconds <= now + 1 && reading.startedSeconds > now - 86_400)
        #expect(ProcessReading.now().startedSeconds == reading.startedSeconds)
    }

    @Test func openFilesAreCounted() {
        let before = ProcessReading.now().openFileCount
        // 200 files are more than other tests in this process open or close at the same time.
        let opened = (0..<200).map { _ in open("/dev/null", O_RDONLY | O_CLOEXEC) }
        let after = ProcessReading.now().openFileCount
        for descriptor in opened where descriptor >= 0 { close(descriptor) }
        #expect(opened.allSatisfy { $0 >= 0 })
        #expect(after > before + 100 && after < before + 1_000)
    }
}
