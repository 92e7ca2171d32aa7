import Glibc

/// Standard input, output and error, which a process may be started without, and which may end before it does.
package enum StandardStreams {
    /// Called before anything else. The next file or socket that is opened must not get the number of a closed stream: a line meant for a
    /// person would be written into a connection. What stands in for a closed stream fails when it is used, as the stream would.
    ///
    /// A reader that has gone and a file that may not grow are errors of the call that meets them (EPIPE, EFBIG) and no signal that ends the
    /// process: work that is under way is finished first.
    package static func prepare() {
        for (descriptor, mode) in [
            (STDIN_FILENO, O_WRONLY), (STDOUT_FILENO, O_RDONLY), (STDERR_FILENO, O_RDONLY),
        ] where fcntl(descriptor, F_GETFD) < 0 {
            // The lowest free number is the one that is closed: those below it are open by now.
            _ = open("/dev/null", mode)
        }
        signal(SIGPIPE, SIG_IGN)
        signal(SIGXFSZ, SIG_IGN)
        // Whatever ends the process in good order: what is still to be written is written, or the exit status says that it was not.
        atexit {
            let isWritten = StandardOutput.flush()
            // What others print (the texts of `--help`) goes through the C library.
            if fflush(nil) != 0 || !isWritten { _exit(1) }
        }
    }
}
