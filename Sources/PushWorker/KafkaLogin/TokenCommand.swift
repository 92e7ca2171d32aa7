import Foundation
import Glibc
import Redaction

/// Runs the program that a setting names, without a shell, and takes its standard output as the token. The program's
/// running time and the size of its output are limited.
///
/// The program's standard error is discarded, because it may contain secrets. The program gets the environment of this
/// process without Mailboat's own variables. It gets no open file of this process except the pipe that it writes to.
enum TokenCommand {
    /// Time limit. A program that has not ended by then is killed, with everything it has started.
    static let millisMax: Int64 = 10_000

    private static let setting = "kafka.oauth.token-command"

    /// The program's path as it may be shown. Arguments are left out, because they may be secrets.
    static func shown(_ words: [String]) -> String {
        words.first.flatMap { ShownText.path($0) ?? (ShownText.isName($0) ? $0 : nil) } ?? "the command"
    }

    /// Why the program cannot be run; `nil` when it can.
    static func fault(_ words: [String]) -> TokenFault? {
        guard let program = words.first, !program.isEmpty else { return Self.fault(words, "is no program") }
        let folders = program.contains("/") ? [""] : Self.searchedFolders
        let isThere = folders.contains { folder in
            access(folder.isEmpty ? program : "\(folder)/\(program)", X_OK) == 0
        }
        return isThere ? nil : Self.fault(words, "cannot be run: there is no such program")
    }

    private static var searchedFolders: [String] {
        (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":").map(String.init)
    }

    private static func fault(_ words: [String], _ text: String, _ cause: TokenFault.Cause = .command) -> TokenFault {
        TokenFault(cause: cause, setting: Self.setting, text: "\(Self.shown(words)) \(text)")
    }

    /// The program's output, if it ends successfully. Blocks.
    static func run(_ words: [String], millisMax: Int64 = Self.millisMax) throws(TokenFault) -> [UInt8] {
        if let fault = Self.fault(words) { throw fault }
        var ends: [Int32] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Self.fault(words, "cannot be run: \(Self.reason(errno))") }
        defer { close(ends[0]) }
        let started = Self.start(words, output: ends[1])
        close(ends[1])
        let process = try started.get()
        let deadline = ContinuousClock.now + .milliseconds(millisMax)
        var said: [UInt8] = []
        let isWhole = Self.read(ends[0], into: &said, until: deadline)
        // The output ends a little before the program does.
        var status = isWhole ? Self.wait(process, until: deadline) : nil
        if status == nil {
            kill(-process, SIGKILL)
            status = Self.wait(process, until: nil)
            if said.count > TokenDocument.byteCountMax {
                throw Self.fault(words, "wrote more than \(TokenDocument.byteCountMax) bytes", .content)
            }
            throw Self.fault(words, "did not end within \(millisMax / 1_000) s, and was killed", .timeout)
        }
        // Processes that the program has left behind are ended, too.
        kill(-process, SIGKILL)
        let advice =
            "run it as the worker's user to see its output, which is not shown here because it may contain a token"
        let code = status ?? 0
        guard code & 0x7f == 0 else { throw Self.fault(words, "was ended by signal \(code & 0x7f): \(advice)") }
        guard code == 0 else { throw Self.fault(words, "ended with status \((code >> 8) & 0xff): \(advice)") }
        return said
    }

    private static func start(_ words: [String], output: Int32) -> Result<pid_t, TokenFault> {
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0)
        for descriptor in Self.openDescriptors where descriptor > STDERR_FILENO {
            posix_spawn_file_actions_addclose(&actions, descriptor)
        }
        var attributes = posix_spawnattr_t()
        posix_spawnattr_init(&attributes)
        defer { posix_spawnattr_destroy(&attributes) }
        // The program gets a process group of its own, which can be ended as a whole. Signals that this process ignores
        // or blocks are reset.
        var signals = sigset_t()
        sigemptyset(&signals)
        posix_spawnattr_setsigmask(&attributes, &signals)
        sigfillset(&signals)
        posix_spawnattr_setsigdefault(&attributes, &signals)
        posix_spawnattr_setpgroup(&attributes, 0)
        posix_spawnattr_setflags(
            &attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))
        let variables = ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("MAILBOAT_") }
        var arguments = words.map { strdup($0) } + [nil]
        var environment = variables.map { strdup("\($0.key)=\($0.value)") } + [nil]
        defer { for text in arguments + environment { free(text) } }
        var process = pid_t()
        let failure = posix_spawnp(&process, words[0], &actions, &attributes, &arguments, &environment)
        return failure == 0 ? .success(process) : .failure(Self.fault(words, "cannot be run: \(Self.reason(failure))"))
    }

    /// The open files of this process. posix_spawn(3) accepts a descriptor that has been closed meanwhile.
    private static var openDescriptors: [Int32] {
        ((try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []).compactMap { Int32($0) }
    }

    /// Reads the program's output.
    /// - Returns: `false` when it does not end in time, or is too long.
    private static func read(
        _ descriptor: Int32, into said: inout [UInt8], until deadline: ContinuousClock.Instant
    ) -> Bool {
        var piece = [UInt8](repeating: 0, count: 16_384)
        while true {
            var wanted = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let left = deadline - .now
            guard left > .zero else { return false }
            let ready = poll(&wanted, 1, Self.millis(left))
            if ready == 0 || (ready < 0 && errno == EINTR) { continue }
            let count = Glibc.read(descriptor, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return true }
            said += piece[..<count]
            guard said.count <= TokenDocument.byteCountMax else { return false }
        }
    }

    /// The status as waitpid(2) returns it; `nil` when the program has not ended by the deadline.
    private static func wait(_ process: pid_t, until deadline: ContinuousClock.Instant?) -> Int32? {
        var status: Int32 = 0
        while true {
            let ended = waitpid(process, &status, deadline == nil ? 0 : WNOHANG)
            if ended == process { return status }
            if ended < 0, errno != EINTR { return 0 }
            guard let deadline else { continue }
            guard ContinuousClock.now < deadline else { return nil }
            usleep(5_000)
        }
    }

    private static func millis(_ duration: Duration) -> Int32 {
        Int32(clamping: max(1, Int64(duration / .milliseconds(1))))
    }

    private static func reason(_ code: Int32) -> String { String(cString: strerror(code)) }
}
