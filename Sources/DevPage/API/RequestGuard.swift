/// Keeps other sites out: any page in the developer's browser can send requests to loopback, and a name of its own can lead there. Pure.
struct RequestGuard {
    /// The address the page listens on.
    let host: String

    private static let loopbackNames = ["localhost", "127.0.0.1", "[::1]"]

    /// Why a request is not answered; `nil`: it is.
    /// - Parameters:
    ///   - authority: `Host`, with the port; `nil`: none was given.
    ///   - origin: `Origin`; `nil`: it comes from no page, or from a link.
    ///   - fetchSite: `Sec-Fetch-Site`; `nil`: it comes from no browser, or from an old one.
    ///   - isRead: it changes nothing.
    func refusal(authority: String?, origin: String?, fetchSite: String?, isRead: Bool) -> String? {
        guard let authority else { return "the request has no Host" }
        let name = Self.name(of: authority)
        guard Self.loopbackNames.contains(name) || name == self.host.lowercased() || !Self.isLoopback(self.host) else {
            return "the page is not known as “\(name.prefix(80))”: use \(self.host)"
        }
        if let origin, origin != "http://\(authority)" { return "a page of another site asks: \(origin.prefix(80))" }
        if !isRead, let fetchSite, !["same-origin", "none"].contains(fetchSite) {
            return "a page of another site asks"
        }
        return nil
    }

    /// Whether only this machine can reach an address.
    static func isLoopback(_ host: String) -> Bool {
        Self.loopbackNames.contains(host.lowercased()) || host == "::1"
            || (host.hasPrefix("127.") && host.split(separator: ".").count == 4
                && host.split(separator: ".").allSatisfy { UInt8($0) != nil })
    }

    private static func name(of authority: String) -> String {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            return authority[...end].lowercased()
        }
        return (authority.split(separator: ":").first.map(String.init) ?? "").lowercased()
    }
}
