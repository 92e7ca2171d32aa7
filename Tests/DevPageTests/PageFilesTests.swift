import PageStyle
import PushInspection
import Testing

@testable import DevPage

/// Tests of the page's files, which refer to each other by name. The compiler cannot check these names.
struct PageFilesTests {
    private static let served = Set(DevPageFiles.all.map(\.path))

    private static func text(_ path: String) -> String { DevPageFiles.all.first { $0.path == path }?.text ?? "" }

    @Test(arguments: DevPageFiles.all.map(\.path)) func whatAFileNamesIsServed(path: String) throws {
        let file = try #require(DevPageFiles.all.first { $0.path == path })
        let imports = file.text.matches(of: #/from "(/[^"]+)"|(?:src|href)="(/[^"]+\.(?:js|css))"/#)
        for found in imports {
            let named = String(found.output.1 ?? found.output.2 ?? "")
            #expect(Self.served.contains(named), "\(path) names \(named)")
        }
        #expect(
            !imports.isEmpty || path.hasSuffix(".css") || ["/elements.js", "/address.js", "/roving.js"].contains(path))
    }

    @Test func everyElementOfTheScriptsStandsInThePage() throws {
        let page = try #require(DevPageFiles.all.first { $0.path == "/" }).text
        for file in DevPageFiles.all where file.path.hasSuffix(".js") {
            for found in file.text.matches(of: #/byID\("([^"]+)"\)/#) {
                #expect(page.contains("id=\"\(found.output.1)\""), "\(file.path) looks for \(found.output.1)")
            }
        }
    }

    /// The script contains the maximum number of entries of an answer as a constant. It must equal the server's number.
    @Test func theSearchKnowsHowManyEntriesAnAnswerHas() {
        #expect(Self.text("/search.js").contains("const foundMax = \(Timeline.entriesPerAnswerMax);"))
    }

    /// Each state of a phone has a colour, and each remedy has a button.
    @Test func whatIsSaidOfAPhoneIsDrawn() {
        for name in PhoneStatus.Word.names {
            #expect(
                [" \(name): \"", "\"\(name)\": \""].contains { PageFile.elements(at: "").text.contains($0) },
                "tones in elements.js names no \(name)")
        }
        for action in PhoneStatus.Remedy.actions {
            #expect(Self.text("/remedies.js").contains("\"\(action)\": {"), "remedies.js has no \(action)")
        }
    }
}
