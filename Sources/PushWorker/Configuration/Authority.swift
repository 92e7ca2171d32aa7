/// The host and port of a URL (RFC 3986 §3.2). A user is not accepted, because settings are shown and a user may
/// contain a secret.
struct Authority: Equatable, Sendable {
    /// A host name or an address, without brackets.
    var host: String
    /// The port; `nil` when none is given.
    var port: Int?

    /// Reads `host` or `host:port`, in which the host may be an address in brackets. `nil` when `text` has another form
    /// or a user.
    init?(_ text: Substring) {
        var portText: Substring?
        if text.hasPrefix("[") {
            guard let end = text.firstIndex(of: "]") else { return nil }
            self.host = String(text[text.index(after: text.startIndex)..<end])
            let behind = text[text.index(after: end)...]
            guard behind.isEmpty || behind.hasPrefix(":"), self.host.contains(":") else { return nil }
            portText = behind.isEmpty ? nil : behind.dropFirst()
        } else {
            let parts = text.split(separator: ":", omittingEmptySubsequences: false)
            guard parts.count <= 2 else { return nil }
            self.host = String(parts[0])
            portText = parts.count == 2 ? parts[1] : nil
        }
        guard SettingChecks.isHost(self.host) else { return nil }
        guard let portText else { return }
        guard let port = Int(portText), (1...65_535).contains(port), portText.allSatisfy(\.isNumber) else { return nil }
        self.port = port
    }
}
