import LocalFiles
import Logging
import NIOPosix
import PushModel
import PushTransport
import Redaction
import Synchronization
import TLSSession

/// The certificate of the admin port. Its files are read again regularly, so that new connections get a renewed
/// certificate. May be used from any thread.
final class AdminTLS: Sendable {
    private struct State {
        var context: TLSContext
        var files: [[UInt8]]
        var lookedAtMillis: Int64
    }

    /// The least time between two looks at the files.
    static let lookDistanceMillis: Int64 = 60_000

    private let state: Mutex<State>
    private let configuration: WorkerConfiguration.Admin.TLS
    private let logger: Logger

    /// A fault of one of the files.
    struct Fault: Error {
        /// The setting that names the file.
        var setting: String
        var text: String
    }

    /// Reads the files. Blocks on the disk.
    init(_ configuration: WorkerConfiguration.Admin.TLS, logger: Logger) throws(Fault) {
        let files = try Self.read(configuration)
        self.configuration = configuration
        self.logger = logger
        self.state = Mutex(
            State(
                context: try Self.context(files, configuration), files: files,
                lookedAtMillis: MachineClock.now().steadyMillis))
    }

    private static func read(_ configuration: WorkerConfiguration.Admin.TLS) throws(Fault) -> [[UInt8]] {
        var files: [[UInt8]] = []
        for (setting, path) in [
            ("admin.tls.certificate-file", configuration.certificateFile),
            ("admin.tls.key-file", configuration.keyFile),
        ] {
            do throws(FileFailure) { files.append(try InputFile.read(path)) } catch {
                throw Fault(setting: setting, text: "\(error)")
            }
        }
        return files
    }

    private static func context(
        _ files: [[UInt8]], _ configuration: WorkerConfiguration.Admin.TLS
    ) throws(Fault) -> TLSContext {
        do throws(TLSError) {
            return try TLSContext.server(
                certificateChainPEM: files[0], privateKeyPEM: files[1], applicationProtocols: [])
        } catch {
            throw Fault(
                setting: "admin.tls",
                text:
                    "\(ShownText.path(configuration.certificateFile) ?? "one file") and \(ShownText.path(configuration.keyFile) ?? "the other") are not a certificate and its key: \(error)"
            )
        }
    }

    /// Makes a session for a new connection.
    func session() throws(TLSError) -> TLSSession {
        let now = MachineClock.now().steadyMillis
        let (context, isLookDue) = self.state.withLock { state in
            let isDue = now - state.lookedAtMillis >= Self.lookDistanceMillis
            if isDue { state.lookedAtMillis = now }
            return (state.context, isDue)
        }
        if isLookDue { NIOThreadPool.singleton.submit { _ in self.look() } }
        return try TLSSession(server: context)
    }

    /// Reads the files again, and uses their certificate if it has changed. Blocks on the disk.
    func look() {
        do throws(Fault) {
            let files = try Self.read(self.configuration)
            guard self.state.withLock({ $0.files != files }) else { return }
            let context = try Self.context(files, self.configuration)
            self.state.withLock { state in
                state.context = context
                state.files = files
            }
            self.logger.notice("the admin port has another certificate for new connections")
        } catch {
            // Perhaps only one of the two files has been replaced so far.
            self.logger.warning(
                "the admin port keeps its certificate",
                metadata: ["setting": "\(error.setting)", "cause": "\(error.text)"])
        }
    }
}
