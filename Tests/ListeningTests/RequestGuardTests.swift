import Listening
import Testing

struct RequestGuardTests {
    struct Row {
        var authority: String?
        var origin: String?
        var fetchSite: String?
        var isRead = true
        var isNavigation = false
        var host = "127.0.0.1"
        var isLetIn: Bool
    }

    @Test(arguments: [
        Row(authority: "127.0.0.1:8484", isLetIn: true), Row(authority: "localhost:8484", isLetIn: true),
        Row(authority: "LOCALHOST", isLetIn: true), Row(authority: "[::1]:8484", isLetIn: true),
        Row(authority: nil, isLetIn: false), Row(authority: "", isLetIn: false),
        // Somebody else's host name leads to this machine.
        Row(authority: "evil.example:8484", isLetIn: false), Row(authority: "localhost.evil.example", isLetIn: false),
        Row(authority: "evil.example:8484", host: "0.0.0.0", isLetIn: true),
        Row(authority: "mine.test:8484", host: "mine.test", isLetIn: true),
        // Another site's page sends the request.
        Row(authority: "localhost:8484", origin: "http://evil.example", isRead: false, isLetIn: false),
        Row(authority: "localhost:8484", origin: "null", isRead: false, isLetIn: false),
        Row(authority: "localhost:8484", origin: "http://localhost:3000", isRead: false, isLetIn: false),
        Row(authority: "localhost:8484", origin: "http://localhost:8484", isRead: false, isLetIn: true),
        Row(authority: "localhost:8484", fetchSite: "cross-site", isRead: false, isLetIn: false),
        Row(authority: "localhost:8484", fetchSite: "same-site", isRead: false, isLetIn: false),
        Row(authority: "localhost:8484", fetchSite: "same-origin", isRead: false, isLetIn: true),
        // Another site's page reads the answer, by a script or as a picture.
        Row(authority: "localhost:8484", fetchSite: "cross-site", isLetIn: false),
        Row(authority: "localhost:8484", fetchSite: "same-site", isLetIn: false),
        Row(authority: "localhost:8484", origin: "http://evil.example", isLetIn: false),
        Row(authority: "localhost:8484", fetchSite: "none", isLetIn: true),
        // A person follows a link from another site's page.
        Row(authority: "localhost:8484", fetchSite: "cross-site", isNavigation: true, isLetIn: true),
        Row(authority: "localhost:8484", fetchSite: "cross-site", isRead: false, isNavigation: true, isLetIn: false),
        // curl sends the request.
        Row(authority: "localhost:8484", isRead: false, isLetIn: true),
    ])
    func onlyTheDeveloperIsLetIn(row: Row) {
        let refusal = RequestGuard(host: row.host).refusal(
            .init(
                authority: row.authority, origin: row.origin, fetchSite: row.fetchSite, isNavigation: row.isNavigation),
            isRead: row.isRead)
        #expect((refusal == nil) == row.isLetIn, "\(refusal ?? "let in")")
    }

    @Test(arguments: [
        ("127.0.0.1", true), ("localhost", true), ("::1", true), ("127.1.2.3", true), ("0.0.0.0", false),
        ("127.0.0.1.evil.example", false),
        ("127.0.0", false), ("127.0.0.999", false), ("192.168.1.5", false), ("", false),
    ])
    func loopbackIsToldFromTheWorld(host: String, isLoopback: Bool) {
        #expect(RequestGuard.isLoopback(host) == isLoopback)
    }
}
