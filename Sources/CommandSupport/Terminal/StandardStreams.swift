import Glibc

/// Standard input, output and error. A process may be started without them, and they may end before it does.
package enum StandardStreams {
    /// Prepares the streams; call it before anything else. The next opened file or socket must not get the number of a
    /// closed stream. Otherwise a line for a person would be written into a connection. The replacement of a closed
    /// stream fails when it is used, as the stream would.
    ///
    /// If a reader has gone or a file may not grow, the write fails (EPIPE, EFBIG). No signal ends the process. The
    /// command can therefore finish its work first.
    package static func prepare() {
        for (descriptor, mode) in [
            (STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY),
        ] where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is the closed one: those below it are open by now.
            _ = open("/dev/null", mode)
        }
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // At any orderly end of the process, the rest is written, or the exit status says that it was not.
        atexit {
            let isWritten = StandardOutput.flush()
            // Texts of other libraries (such as `--help`) are printed through the C library.
            if fflush(nil) != 0 || !isWritten { _exit(1) }
        }
    }
}
