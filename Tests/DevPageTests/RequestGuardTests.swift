import PageStyle
import Testing

@testable import DevPage

struct RequestGuardTests {
    struct Row {
        var authority: String?
        var origin: String?
        var fetchSite: String?
        var isRead = true
        var host = "127.0.0.1"
        var isLetIn: Bool
    }

    @Test(arguments: [
        Row(authority: "127.0.0.1:8484", isLetIn: true), Row(authority: "localhost:8484", isLetIn: true),
        Row(authority: "LOCALHOST", isLetIn: true), Row(authority: "[::1]:8484", isLetIn: true),
        Row(authority: nil, isLetIn: false), Row(authority: "", isLetIn: false),
        // A name of somebody else's that leads to loopback.
        Row(authority: "evil.example:8484", isLetIn: false), Row(authority: "localhost.evil.example", isLetIn: false),
        Row(authority: "evil.example:8484", host: "0.0.0.0", isLetIn: true),
        Row(authority: "mine.test:8484", host: "mine.test", isLetIn: true),
        // A page of somebody else's.
        Row(authority: "localhost:8484", origin: "http://evil.example", isRead: false, isLetIn: false),
        Row(authority: "localhost:8484", origin: "null", isRead: false, isLetIn: false),
        Row(authority: "localhost:8484", origin: "http://localhost:3000", isRead: false, isLetIn: false),
        Row(authority: "localhost:8484", origin: "http://localhost:8484", isRead: false, isLetIn: true),
        Row(authority: "localhost:8484", fetchSite: "cross-site", isRead: false, isLetIn: false),
        Row(authority: "localhost:8484", fetchSite: "same-site", isRead: false, isLetIn: false),
        Row(authority: "localhost:8484", fetchSite: "same-origin", isRead: false, isLetIn: true),
        // A link on another page that leads here.
        Row(authority: "localhost:8484", fetchSite: "cross-site", isLetIn: true),
        // curl.
        Row(authority: "localhost:8484", isRead: false, isLetIn: true),
    ])
    func onlyTheDeveloperIsLetIn(row: Row) {
        let refusal = RequestGuard(host: row.host).refusal(
            authority: row.authority, origin: row.origin, fetchSite: row.fetchSite, isRead: row.isRead)
        #expect((refusal == nil) == row.isLetIn, "\(refusal ?? "let in")")
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("localhost", true), ("::1", true), ("127.1.2.3", true), ("0.0.0.0", false),
        ("127.0.0.1.evil.example", false),
        ("127.0.0", false), ("192.168.1.5", false), ("", false),
    ])
    func loopbackIsToldFromTheWorld(host: String, isLoopback: Bool) {
        #expect(RequestGuard.isLoopback(host) == isLoopback)
    }
}

struct FollowersTests {
    @Test func thereIsRoomForSoManyAndNoMore() async throws {
        let followers = Followers(countMax: 2)
        let first = followers.enter()
        let second = followers.enter()
        #expect(first != nil && second != nil)
        #expect(followers.enter() == nil)
        first?.leave()
        let third = followers.enter()
        #expect(third != nil)
        followers.end()
        #expect(followers.enter() == nil)
        var wakeCount = 0
        // The one at the beginning; then the page has ended.
        for await _ in try #require(third).wakes { wakeCount += 1 }
        #expect(wakeCount == 1)
    }

    @Test func aSlowFollowerIsWokenOnce() async throws {
        let followers = Followers(countMax: 1)
        let follower = followers.enter()
        for _ in 0..<1_000 { followers.wakeAll() }
        followers.end()
        var wakeCount = 0
        for await _ in try #require(follower).wakes { wakeCount += 1 }
        #expect(wakeCount == 1)
    }
}

struct PageFileTests {
    @Test func theFilesAreWholeAndLoadNothingFromElsewhere() {
        #expect(DevPageFiles.all.count == 16)
        for file in DevPageFiles.all {
            #expect(file.text.utf8.count > 500, "\(file.path)")
            #expect(
                !file.text.contains("innerHTML") && !file.text.contains("eval("), "\(file.path): text becomes markup")
            let foreign = file.text.ranges(of: "http").filter {
                !file.text[$0.lowerBound...].hasPrefix("http://www.w3.org/2000/svg")
            }
            #expect(foreign.isEmpty, "\(file.path) names an address")
        }
        let served = Set(DevPageFiles.all.map(\.path))
        for file in DevPageFiles.all {
            for match in file.text.matches(of: /(?:from |src=|href=)"(\/[a-z]+\.(?:js|css))"/) {
                #expect(served.contains(String(match.output.1)), "\(file.path) loads \(match.output.1)")
            }
        }
    }
}
