import Glibc
import LocalFiles

/// What the system reports about this process. The names on the page are those that Prometheus' client libraries use,
/// so that common dashboards show a worker, too.
struct ProcessReading: Sendable, Equatable {
    /// Processor time of all threads, user and system, in seconds.
    var cpuSeconds = 0.0
    /// Resident memory, from `/proc/self/statm`.
    var residentByteCount = 0
    /// Number of open file descriptors, including sockets and those of libraries.
    var openFileCount = 0
    /// Maximum number of descriptors that the process may have.
    var openFileCountMax = 0
    var threadCount = 0
    /// When the process began, seconds since 1970.
    var startedSeconds = 0.0

    /// Reads some small files of `/proc`. A number that cannot be read is 0. May be called from any thread.
    static func now() -> ProcessReading {
        var reading = ProcessReading(startedSeconds: Self.startedSeconds)
        var usage = rusage()
        if getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 {
            reading.cpuSeconds = Self.seconds(usage.ru_utime) + Self.seconds(usage.ru_stime)
        }
        let pages = Self.fields(of: "/proc/self/statm").dropFirst().first.flatMap { Int($0) } ?? 0
        reading.residentByteCount = pages * Int(sysconf(Int32(_SC_PAGESIZE)))
        var limit = rlimit()
        if getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 {
            reading.openFileCountMax = Int(clamping: limit.rlim_cur)
        }
        reading.openFileCount = Self.entryCount(of: "/proc/self/fd")
        // The directory has one link for each thread and two more, as every directory has. Reading the number of links
        // is cheaper than reading `/proc/self/stat`, for which the kernel sums up the times of all threads.
        var tasks = stat()
        if stat("/proc/self/task", &tasks) == 0 { reading.threadCount = max(0, Int(tasks.st_nlink) - 2) }
        return reading
    }

    /// When the process started. It is read once, so that a clock that is set later does not change it.
    private static let startedSeconds: Double = {
        guard let ticks = Self.afterName(Self.statText()).dropFirst(19).first.flatMap({ Double($0) }) else { return 0 }
        var (sinceBoot, wall) = (timespec(), timespec())
        guard clock_gettime(CLOCK_BOOTTIME, &sinceBoot) == 0, clock_gettime(CLOCK_REALTIME, &wall) == 0 else {
            return 0
        }
        let ageSeconds = Self.seconds(sinceBoot) - ticks / Double(sysconf(Int32(_SC_CLK_TCK)))
        return ((Self.seconds(wall) - ageSeconds) * 100).rounded() / 100
    }()

    /// Number of bytes to read from a file of `/proc` at once. All files that are read here are smaller.
    private static let fileByteCount = 1_024

    private static func statText() -> String { Self.text(of: "/proc/self/stat") }

    /// The fields after the process's name. The first is the state, and the start time is 19 fields after it (proc(5)).
    /// The name is in parentheses and may contain spaces.
    private static func afterName(_ stat: String) -> [Substring] {
        guard let end = stat.lastIndex(of: ")") else { return [] }
        return stat[stat.index(after: end)...].split(separator: " ")
    }

    private static func fields(of path: String) -> [Substring] { Self.text(of: path).split(separator: " ") }

    private static func text(of path: String) -> String {
        guard let bytes = try? InputFile.read(path, pieceByteCount: Self.fileByteCount) else { return "" }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func entryCount(of path: String) -> Int {
        // Since Linux 6.2, the size of the directory is the number of open files, so the directory need not be opened.
        var status = stat()
        if stat(path, &status) == 0, status.st_size > 0 { return Int(status.st_size) }
        guard let directory = opendir(path) else { return 0 }
        defer { closedir(directory) }
        var count = 0
        while let entry = readdir(directory) {
            // The entries `.` and `..` are not descriptors. The names of descriptors are numbers.
            if entry.pointee.d_name.0 != UInt8(ascii: ".") { count += 1 }
        }
        // One of the entries is the descriptor of the directory itself.
        return max(0, count - 1)
    }

    private static func seconds(_ time: timeval) -> Double { Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    private static func seconds(_ time: timespec) -> Double { Double(time.tv_sec) + Double(time.tv_nsec) / 1e9 }
}

/// The rows of a process reading.
extension ProcessReading {
    static let metrics: [(metric: MetricDescription, value: @Sendable (ProcessReading) -> Double)] = [
        (
            MetricDescription(
                name: "process_cpu_seconds_total", kind: .counter, unit: "seconds",
                help: "Processor time of all threads, user and system."), { $0.cpuSeconds }
        ),
        (
            MetricDescription(
                name: "process_resident_memory_bytes", kind: .gauge, unit: "bytes", help: "Memory that is resident."),
            { Double($0.residentByteCount) }
        ),
        (
            MetricDescription(
                name: "process_open_fds", kind: .gauge, unit: "file descriptors",
                help: "File descriptors that are open."),
            { Double($0.openFileCount) }
        ),
        (
            MetricDescription(
                name: "process_max_fds", kind: .gauge, unit: "file descriptors",
                help: "File descriptors that the process may have at most."), { Double($0.openFileCountMax) }
        ),
        (
            MetricDescription(name: "process_threads", kind: .gauge, unit: "threads", help: "Threads of the process."),
            { Double($0.threadCount) }
        ),
        (
            MetricDescription(
                name: "process_start_time_seconds", kind: .gauge, unit: "seconds",
                help: "When the process began, since 1970."), { $0.startedSeconds }
        ),
    ]
}
