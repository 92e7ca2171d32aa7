import Testing

/// Tests that only one part of the engine writes each field of a slot. The table in `Slot` names that part.
struct SlotOwnershipTests {
    private static let slotPath = "Sources/PushEngine/Slots/Slot.swift"

    /// The folder of the part that writes a field, by field.
    private static func owners() throws -> [String: String] {
        let slot = try #require(ProjectFiles.textFile(Self.slotPath))
        var owners: [String: String] = [:]
        for line in slot.lines {
            guard let row = line.wholeMatch(of: #//// \| .*, `(\w+)` \| (.*) \|/#) else { continue }
            for field in row.2.split(separator: ", ") {
                #expect(owners[String(field)] == nil, "\(field) has two owners")
                owners[String(field)] = String(row.1)
            }
        }
        return owners
    }

    @Test func eachFieldHasAnOwner() throws {
        let slot = try #require(ProjectFiles.textFile(Self.slotPath))
        let begin = try #require(slot.lines.firstIndex(of: "struct Slot {"))
        let fields = slot.lines[begin...].compactMap { line in
            line.wholeMatch(of: #/    var (\w+)(?:: \w+)? = .*/#).map { String($0.1) }
        }
        #expect(fields.count > 30)
        // Fields that share a byte with others are computed properties.
        let shared = zip(slot.lines, slot.lines.dropFirst()).compactMap { line, next in
            next.contains(" get {")
                ? line.wholeMatch(of: #/    @inline\(__always\) var (\w+): \w+ \{/#).map { String($0.1) } : nil
        }
        #expect(shared.count == 6)
        #expect(try Set(Self.owners().keys) == Set(fields + shared))
    }

    @Test func noFileWritesAFieldOfAnotherPart() throws {
        let owners = try Self.owners()
        var writes = 0
        for file in ProjectFiles.swiftFiles(in: ["Sources/PushEngine"]) {
            let folder = file.path.split(separator: "/")[2]
            for (index, line) in file.lines(with: "slots[", "store[", "self[") {
                // A field is written by `slots[slot].field = …`, by `self[slot].field += …`, or by passing it with `&`.
                let written =
                    line.matches(
                        of: #/(?:slots|store|self)\[[^\]]*(?:\[[^\]]*\])?[^\]]*\]\.(\w+)(?:\.\w+)* (?:[-+]|&[-+])?= /#
                    )
                    .map { String($0.1) }
                    + line.matches(of: #/&(?:\w+\.)*slots\[[^\]]*(?:\[[^\]]*\])?[^\]]*\]\.(\w+)/#).map { String($0.1) }
                for field in written {
                    guard let owner = owners[field] else { continue }
                    writes += 1
                    #expect(folder == owner, "\(file.path):\(index + 1) writes \(field), which is written in \(owner)")
                }
            }
        }
        #expect(writes > 60, "the test finds what it looks for")
    }
}
