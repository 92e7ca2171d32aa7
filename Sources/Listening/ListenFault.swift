import Glibc
import NIOCore
import Redaction

/// Why the program cannot listen on an address, for a person: the setting, the address, the error, and what to do.
package struct ListenFault: Error, Equatable, CustomStringConvertible {
    /// The option or setting that gave the address, such as `--port` or `admin.port`.
    package var setting: String
    private let address: String
    private let reason: String

    private static let unknownName =
        "the name is not known: expected an address of this machine, such as 127.0.0.1, or 0.0.0.0 for all"

    /// - Parameters:
    ///   - error: the error of the attempt to listen.
    ///   - setting: the option or setting that gave the address.
    ///   - host: an address of this machine, or a name.
    ///   - port: the port; 0: any free one.
    /// - Returns: `nil` when the error is not about the address.
    package init?(_ error: any Error, _ setting: String, host: String, port: Int) {
        switch error {
        case let error as IOError: self.reason = Self.reason(code: error.errnoCode, port: port)
        case is SocketAddressError, is SocketAddressError.UnknownHost:
            self.reason = Self.unknownName
        case let fault as ListenFault: self.reason = fault.reason
        default: return nil
        }
        self.setting = setting
        // A name that could not be resolved may be anything, even a secret.
        let shown = self.reason == Self.unknownName ? ShownText.unknownName(host) : ShownText.name(host)
        self.address = host.contains(":") ? "[\(shown)]:\(port)" : "\(shown):\(port)"
    }

    package var description: String {
        "\(self.setting): \(self.address) cannot be listened on: \(self.reason)"
    }

    private static func reason(code: Int32, port: Int) -> String {
        switch code {
        case EADDRINUSE:
            "another process has it ('ss -ltnp sport = :\(port)' names it). End that one, or set another port; 0 takes a free one"
        case EACCES:
            "this user may not listen there. Ports below 1024 need a right: set a higher one; 0 takes a free one"
        case EADDRNOTAVAIL:
            "this machine has no such address ('ip address' lists them). Set one that it has, such as 127.0.0.1, or 0.0.0.0 for all"
        default: String(cString: strerror(code))
        }
    }
}
