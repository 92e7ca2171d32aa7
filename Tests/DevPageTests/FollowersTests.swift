import PageStyle
import Testing

@testable import DevPage

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
        // Only the first wake-up arrives, because the page has ended by then.
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
        #expect(DevPageFiles.all.count == 30)
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
