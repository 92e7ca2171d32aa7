import Foundation
import LocalFiles
public import Redaction

/// An HTTP proxy that makes tunnels, and where its credentials are.
public struct ProxyAccess: Equatable, Sendable {
    /// The proxy's name or IP address. An IPv6 address has no brackets.
    public var host: String
    /// The TCP port.
    public var port: Int
    /// The path of a file with `user:password`; `nil` if the proxy needs no credentials.
    public var credentialsFile: String?

    public init(host: String, port: Int, credentialsFile: String? = nil) {
        self.host = host
        self.port = port
        self.credentialsFile = credentialsFile
    }

    /// The proxy as logs and tools show it, such as `http://proxy:3128`.
    public var shown: String {
        let name = ShownText.name(self.host)
        return "http://\(self.host.contains(":") ? "[\(name)]" : name):\(self.port)"
    }

    /// The value of `proxy-authorization`, which is a secret; `nil` if the proxy needs no credentials. Blocks on the
    /// disk.
    func authorization() throws(ProxyCredentials.Fault) -> [UInt8]? {
        guard let path = self.credentialsFile else { return nil }
        return try ProxyCredentials.read(path: path).authorization
    }
}

// A path may be the secret itself, set by mistake, so it is not shown.
extension ProxyAccess: Redacted {}

/// User and password for a proxy, for the scheme Basic (RFC 7617).
public struct ProxyCredentials: Equatable, Sendable {
    /// Maximum length of `user:password`, bytes.
    static let byteCountMax = 1_024

    /// The value of `proxy-authorization`, a secret.
    let authorization: [UInt8]

    /// Why user and password cannot be read from a file. The text does not contain the file's content.
    public struct Fault: Error, CustomStringConvertible {
        public let description: String
    }

    /// Reads `user:password`. Further colons belong to the password. A final line end is ignored.
    public init(_ content: [UInt8]) throws(Fault) {
        let line = content.prefix { $0 != 0x0a && $0 != 0x0d }
        guard content[line.count...].allSatisfy({ $0 == 0x0a || $0 == 0x0d }) else {
            throw Fault(description: "holds several lines: expected user:password on one")
        }
        guard (3...Self.byteCountMax).contains(line.count), let colon = line.firstIndex(of: UInt8(ascii: ":")),
            colon > line.startIndex
        else {
            throw Fault(
                description:
                    "holds \(line.count) bytes that are not a user and a password: expected user:password of at most \(Self.byteCountMax) bytes"
            )
        }
        guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7f }) else {
            throw Fault(description: "holds control characters: expected user:password")
        }
        self.authorization = Array("Basic \(Data(line).base64EncodedString())".utf8)
    }

    /// Reads the credentials' file. Blocks on the disk. A fault names the path.
    public static func read(path: String) throws(Fault) -> ProxyCredentials {
        let content: [UInt8]
        do throws(FileFailure) {
            content = try InputFile.read(path, byteCountMax: 2 * Self.byteCountMax)
        } catch {
            throw Fault(description: error.description)
        }
        do throws(Fault) { return try ProxyCredentials(content) } catch {
            throw Fault(description: "\(ShownText.path(path) ?? "the file") \(error.description)")
        }
    }
}

extension ProxyCredentials: Redacted {}
