import Foundation
import Testing

/// Tests of style rules that the formatter does not know. `make lint` checks the format.
struct TidyTests {
    /// Files that may exceed the limit of lines, each with its reason. A file has one concept, which seldom needs more
    /// than a few hundred lines.
    static let longFiles: [String: String] = [:]
    static let lineCountMax = 500

    @Test func noFileIsTooLong() {
        for file in ProjectFiles.swiftFiles() where file.lines.count - 1 > Self.lineCountMax {
            #expect(
                Self.longFiles[file.path] != nil,
                "\(file.path) has \(file.lines.count - 1) lines, at most \(Self.lineCountMax)")
        }
    }

    /// Code that can trap, or that bypasses the compiler's checks, must say why. The reason is on its line, or in the
    /// comment just above.
    @Test(arguments: ["try!", "as!", "fatalError(", "@unchecked Sendable", "nonisolated(unsafe)"])
    func whatBypassesTheCompilerSaysWhy(construct: String) {
        for file in ProjectFiles.swiftFiles(in: ["Sources"]) {
            for (index, line) in file.lines(with: construct) where Self.code(of: line).contains(construct) {
                let isExplained = line.contains("//") || Self.hasCommentAbove(index, in: file.lines)
                #expect(isExplained, "\(file.path):\(index + 1): \(construct) without a reason beside it")
            }
        }
    }

    @Test func nothingIsLeftUndone() {
        let marks = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "HA" + "CK", "to be filled " + "in"]
        for file in ProjectFiles.allTextFiles {
            for (index, line) in file.lines.enumerated() where marks.contains(where: line.has) {
                let mark = marks.first { mark in line.ranges(of: mark).contains { Self.isWord($0, in: line) } }
                #expect(mark == nil, "\(file.path):\(index + 1): \(mark ?? "")")
            }
        }
    }

    /// No file contains an absolute path of one machine, because that path does not exist on other machines.
    @Test func pathsBelongToNoMachine() throws {
        let machinePath = try Regex(#"(?:^|[\s"'=(:])/(?:home|root|Users|work|farm)/"#)
        for file in ProjectFiles.allTextFiles {
            for (index, line) in file.lines(with: "home/", "root/", "Users/", "work/", "farm/")
            where line.contains(machinePath) {
                Issue.record(
                    "\(file.path):\(index + 1): an absolute path of one machine: \(line.trimmingCharacters(in: .whitespaces))"
                )
            }
        }
    }

    /// Each C library is imported only by the target that wraps it.
    @Test(arguments: [("CNGHTTP2", "HTTP2Session"), ("COpenSSL", "TLSSession"), ("CRDKafka", "KafkaLog")])
    func onlyTheWrapperImportsTheLibrary(library: String, wrapper: String) {
        for file in ProjectFiles.swiftFiles(in: ["Sources"]) where !file.path.hasPrefix("Sources/\(wrapper)/") {
            let importsIt = file.lines.contains { $0.hasSuffix("import \(library)") }
            #expect(!importsIt, "\(file.path) imports \(library); only \(wrapper) does")
        }
    }

    /// Only two files use processor instructions that Swift cannot express.
    @Test func fewImportTheProcessor() {
        let importers = ProjectFiles.swiftFiles(in: ["Sources"])
            .filter { $0.lines.contains { $0.hasSuffix("import CProcessor") } }.map(\.path).sorted()
        #expect(importers == ["Sources/PushEngine/Stores/Prefetch.swift", "Sources/PushModel/JSON/JSONStops.swift"])
    }

    /// Some calls of Foundation's `FileHandle` end the process where POSIX reports an error. Other calls cannot tell a
    /// missing file from an unreadable one. Use `LocalFiles`, `StandardOutput`, `StandardError`, or calls that throw.
    @Test(arguments: [
        ".availableData", ".readData(", ".readDataToEndOfFile(", ".seekToEndOfFile(", ".seek(toFileOffset",
        ".offsetInFile",
        ".truncateFile(", ".synchronizeFile(", ".closeFile(", "FileHandle.standardOutput", "FileHandle.standardError",
        "FileHandle.standardInput", ".readabilityHandler", ".writeabilityHandler", "contents(atPath",
    ])
    func noFileTraps(call: String) {
        for file in ProjectFiles.swiftFiles(in: ["Sources", "Benchmarks"]) {
            for (index, line) in file.lines(with: call) where Self.code(of: line).contains(call) {
                Issue.record("\(file.path):\(index + 1): \(call) traps, or cannot tell a missing file from others")
            }
        }
    }

    /// No code uses `FileHandle` at all. Its `write` traps as well, but a search for that name would find many other
    /// calls.
    @Test func nobodyUsesFileHandles() {
        let users = ProjectFiles.swiftFiles(in: ["Sources", "Benchmarks"])
            .filter { $0.lines(with: "FileHandle").contains { Self.code(of: $0.line).contains("FileHandle") } }.map(
                \.path)
        #expect(users == [])
    }

    /// `print` is not used by commands. It does not report a failed write, and does not escape a stranger's text for a
    /// terminal.
    @Test func commandsPrintInOnePlace() {
        for file in ProjectFiles.swiftFiles(in: ["Sources"]) {
            for (index, line) in file.lines(with: "print(") {
                let code = Self.code(of: line)
                let prints = code.firstRange(of: /(^|[ {(])(Swift\.)?print\(/) != nil && !code.contains("func print(")
                #expect(!prints, "\(file.path):\(index + 1): StandardOutput.print, or StandardError.print")
            }
        }
    }

    /// Targets that only decide do not use a socket, clock, lock, logger or file.
    @Test(arguments: [
        "PushModel", "APNSProtocol", "APNSPool", "ChannelKeeping", "PushEngine", "ShardLoop", "DeviceModel",
        "PushInspection",
    ])
    func pureRoomsStayPure(room: String) {
        let impure = [
            "Foundation", "FoundationEssentials", "NIOCore", "NIOPosix", "Logging", "Synchronization", "Dispatch",
            "Glibc",
        ]
        for file in ProjectFiles.swiftFiles(in: ["Sources/\(room)"]) {
            for (index, line) in file.lines.enumerated() {
                let module = impure.first { line.hasSuffix("import \($0)") }
                #expect(module == nil, "\(file.path):\(index + 1): \(line)")
                for call in ["ContinuousClock", "Date()", "SystemRandomNumberGenerator"]
                where line.has(call) && Self.code(of: line).contains(call) {
                    Issue.record("\(file.path):\(index + 1): \(call): time and randomness are arguments")
                }
            }
        }
    }

    /// Tests wait for events instead of sleeping. A test that sleeps by a call of this list must say why in a comment.
    /// The documentation of a function is no such comment.
    @Test func testsDoNotSleep() {
        // A semaphore that nobody signals sleeps if nobody asks for the result.
        let sleep = #/sleep\(|[.]sleep\b|asyncAfter\(|_ = .*[.]wait\(timeout|poll\(nil|run\(until:/#
        for file in ProjectFiles.swiftFiles(in: ["Tests"]) {
            for (index, line) in file.lines(with: "sleep", "asyncAfter", ".wait(timeout", "poll(nil", "run(until:")
            where Self.code(of: line).contains(sleep) {
                let isExplained =
                    Self.unquoted(line).contains("//") || Self.hasCommentAbove(index, in: file.lines, "// ")
                #expect(isExplained, "\(file.path):\(index + 1): waits on the clock without saying why")
            }
        }
    }

    @Test(arguments: [
        "README.md", "CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "Makefile", ".swift-format",
        "deploy/mailboat.example.yaml",
    ])
    func theProjectHas(path: String) {
        #expect(ProjectFiles.textFile(path) != nil, "\(path) is missing")
    }

    /// The line without its comment and without text in quotes.
    private static func code(of line: String) -> String {
        Self.unquoted(line).components(separatedBy: "//")[0]
    }

    /// The line without text in quotes.
    private static func unquoted(_ line: String) -> String {
        line.components(separatedBy: "\"").enumerated().filter { $0.offset % 2 == 0 }.map(\.element)
            .joined(separator: " ")
    }

    /// Whether a comment is on the line above, or above the statement or declaration that ends here (at most four lines
    /// up).
    private static func hasCommentAbove(_ index: Int, in lines: [String], _ mark: String = "//") -> Bool {
        lines[max(0, index - 4)..<index].contains { $0.trimmingCharacters(in: .whitespaces).hasPrefix(mark) }
    }

    private static func isWord(_ range: Range<String.Index>, in line: String) -> Bool {
        let before = range.lowerBound == line.startIndex ? nil : line[line.index(before: range.lowerBound)]
        let after = range.upperBound == line.endIndex ? nil : line[range.upperBound]
        return !(before?.isLetter ?? false) && !(after?.isLetter ?? false)
    }
}
