import Foundation
import LocalFiles

/// Numbers of a run as a JSON file, for `--summary FILE`.
package enum SummaryFile {
    /// Checks before the run that the file can be written.
    package static func check(_ path: String) throws {
        do { try OutputFile.check(path) } catch { throw CommandFailure("--summary: \(error)") }
    }

    /// Writes the file. Throws a `CommandFailure` with the path and the file system's error.
    package static func write(_ summary: some Encodable, to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        var data = try encoder.encode(summary)
        data.append(UInt8(ascii: "\n"))
        do { try OutputFile.write(Array(data), to: path) } catch { throw CommandFailure("--summary: \(error)") }
    }
}
