import LocalFiles
import Redaction

/// A secret that authorises a client of the admin port, either for channels or for the pages about the worker's
/// knowledge.
struct BearerToken: Sendable {
    /// Minimum number of bytes of a token. A shorter secret can be guessed.
    static let byteCountMin = 16
    /// Maximum number of bytes of a token. A longer one may not fit into a header field.
    static let byteCountMax = 4_096

    private let bytes: [UInt8]

    /// Why a file's content is not a token, in words. The text does not contain the content.
    struct Fault: Error, CustomStringConvertible {
        let description: String
    }

    /// Reads a token from a file's content, without white space at both ends.
    init(_ content: [UInt8]) throws(Fault) {
        let token = content.withoutBlanksAround
        guard (Self.byteCountMin...Self.byteCountMax).contains(token.count) else {
            throw Fault(
                description:
                    "holds a token of \(token.count) bytes: expected \(Self.byteCountMin) to \(Self.byteCountMax), such as those of 'openssl rand -hex 32'"
            )
        }
        guard token.allSatisfy({ (0x21...0x7e).contains($0) }) else {
            throw Fault(description: "holds something else than a token: expected visible ASCII characters on one line")
        }
        self.bytes = token
    }

    /// Reads the file. Blocks on the disk. The fault names the path.
    static func read(path: String) throws(Fault) -> BearerToken {
        let content: [UInt8]
        do throws(FileFailure) {
            content = try InputFile.read(path, byteCountMax: 2 * Self.byteCountMax)
        } catch {
            throw Fault(description: error.description)
        }
        do throws(Fault) {
            return try BearerToken(content)
        } catch {
            throw Fault(description: "\(ShownText.path(path) ?? "the file") \(error.description)")
        }
    }

    /// Whether the value of an `authorization` field is `Bearer` and this token (RFC 6750 §2.1). A wrong token of the
    /// same length takes as long as the right one, so the time reveals nothing about the token.
    func admits(_ authorization: String?) -> Bool {
        guard let authorization else { return false }
        let given = Array(authorization.utf8)
        let scheme = Array("bearer ".utf8)
        guard given.count > scheme.count,
            given.prefix(scheme.count).elementsEqual(scheme, by: { ($0 | 0x20) == $1 })
        else { return false }
        let token = given[scheme.count...]
        var difference = token.count ^ self.bytes.count
        for (index, byte) in token.enumerated() { difference |= Int(byte ^ self.bytes[index % self.bytes.count]) }
        return difference == 0
    }
}

extension BearerToken: Redacted {}
