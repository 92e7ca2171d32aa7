import Foundation
import LocalFiles

/// Numbers of a run as a JSON file, for `--summary FILE`.
package enum SummaryFile {
    /// Before the run: what cannot be written says so at once.
    package static func check(_ path: String) throws {
        do { try OutputFile.check(path) } catch { throw CommandFailure("--summary: \(error)") }
    }

    /// Throws a `CommandFailure` with the path and what the file system says.
    package static func write(_ summary: some Encodable, to path: String) throws {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
        var data = try encoder.encode(summary)
        data.append(UInt8(ascii: "\n"))
        do { try OutputFile.write(Array(data), to: path) } catch { throw CommandFailure("--summary: \(error)") }
    }
}
