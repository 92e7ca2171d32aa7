import APNSProtocol
import Glibc

/// Names of key files: `AuthKey_ABC123DEFG.p8`, as Apple's developer site gives them.
public enum KeyFileName {
    private static let start = "AuthKey_"
    private static let end = ".p8"

    /// The key id in the file name at the end of a path; `nil` if the file is not named as Apple names it.
    public static func keyID(path: String) -> String? {
        let name = path.split(separator: "/").last ?? ""
        guard name.hasPrefix(Self.start), name.hasSuffix(Self.end) else { return nil }
        let keyID = name.dropFirst(Self.start.count).dropLast(Self.end.count)
        let isPlain = keyID.utf8.allSatisfy { byte in
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
        }
        return keyID.utf8.count == ProviderTokenClaims.identifierByteCount && isPlain ? String(keyID) : nil
    }

    /// Maximum number of key files that are read from a directory. Apple gives a team two keys per environment, and
    /// more for single topics.
    public static let countMax = 16

    /// Lists at most `countMax` key files of a directory: the most recently changed first, then by name in reverse.
    /// Returns `nil` if the path is not a directory. Blocks on the disk.
    static func list(directory: String) -> [String]? {
        guard let stream = opendir(directory) else { return nil }
        defer { closedir(stream) }
        var found: [(path: String, mark: KeyFile.Mark)] = []
        while let entry = readdir(stream) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            let path = directory.hasSuffix("/") ? directory + name : directory + "/" + name
            guard Self.keyID(path: name) != nil, let mark = KeyFile.mark(path: path) else { continue }
            found.append((path, mark))
        }
        found.sort {
            ($0.mark.changedSeconds, $0.mark.changedNanos, $0.path) > (
                $1.mark.changedSeconds, $1.mark.changedNanos, $1.path
            )
        }
        return found.prefix(Self.countMax).map(\.path)
    }
}
