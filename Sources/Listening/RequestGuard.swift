/// Keeps other web sites away from a port that has no password. Any page in a browser on this machine can send requests
/// to loopback, and another site's host name can resolve to loopback. All such ports use this guard. It only decides.
package struct RequestGuard: Sendable {
    /// The address on which the port listens.
    package let host: String

    package init(host: String) { self.host = host }

    private static let loopbackNames = ["localhost", "127.0.0.1", "[::1]"]

    /// The header fields of a request that show who sends it.
    package struct Sender: Sendable {
        /// The field `Host`, with the port; `nil` when it is missing.
        package var authority: String?
        /// The field `Origin`; `nil` when it is missing, as when a person followed a link.
        package var origin: String?
        /// The field `Sec-Fetch-Site`; `nil` when the request is not from a browser, or from an old one.
        package var fetchSite: String?
        /// Whether `Sec-Fetch-Mode` and `Sec-Fetch-Dest` say that a person followed a link or typed the address. The
        /// browser shows the answer to such a request and gives it to no other page.
        package var isNavigation: Bool

        package init(authority: String?, origin: String?, fetchSite: String?, isNavigation: Bool = false) {
            self.authority = authority
            self.origin = origin
            self.fetchSite = fetchSite
            self.isNavigation = isNavigation
        }
    }

    /// Why a request must be refused; `nil` when it may be answered.
    /// - Parameter isRead: whether the request changes nothing.
    package func refusal(_ sender: Sender, isRead: Bool) -> String? {
        guard let authority = sender.authority else { return "the request has no Host" }
        let name = Self.name(of: authority)
        guard Self.isLoopback(name) || name == self.host.lowercased() || !Self.isLoopback(self.host) else {
            return "the port is not known as “\(name.prefix(80))”: use \(self.host)"
        }
        if let origin = sender.origin, !["http://\(authority)", "https://\(authority)"].contains(origin) {
            return "a page of another site asks: \(origin.prefix(80))"
        }
        if let fetchSite = sender.fetchSite, !["same-origin", "none"].contains(fetchSite),
            !(isRead && sender.isNavigation)
        {
            return "a page of another site asks"
        }
        return nil
    }

    /// Whether only this machine can reach an address.
    package static func isLoopback(_ host: String) -> Bool {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return Self.loopbackNames.contains(host.lowercased()) || host == "::1"
            || (parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil })
    }

    /// Whether a request's `Host` names this machine.
    package static func isLoopback(authority: String?) -> Bool {
        authority.map { Self.isLoopback(Self.name(of: $0)) } ?? false
    }

    private static func name(of authority: String) -> String {
        if authority.hasPrefix("["), let end = authority.firstIndex(of: "]") {
            return authority[...end].lowercased()
        }
        return (authority.split(separator: ":").first.map(String.init) ?? "").lowercased()
    }
}
