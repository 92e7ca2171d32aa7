/// The rule about an event's environment.
extension EventRules {
    /// Whether the event itself says which of Apple's services it needs: it brings a token, or names the environment of
    /// its channel. Any other event goes where its token was registered.
    @inlinable @inline(__always) public static func choosesEnvironment(_ event: borrowing DecodedEvent) -> Bool {
        event.kind == .register || event.target == .token || event.target == .startToken
            || (event.target == .channel && event.isEnvironmentGiven)
    }

    /// Checks the event's environment against those of its app, as a worker does.
    /// - Parameter configured: the environments of the event's app.
    public static func checkEnvironment(
        _ event: borrowing DecodedEvent, configured: [PushEnvironment]
    ) throws(EventRejection) {
        guard Self.choosesEnvironment(event), !configured.contains(event.environment) else { return }
        throw Self.unknownEnvironment(event.environment, configured: configured)
    }

    /// The rejection of an environment that the event's app does not have. It names what was expected, and the setting.
    /// - Parameter configured: the environments of the event's app.
    @inline(never)
    public static func unknownEnvironment(
        _ given: PushEnvironment, configured: [PushEnvironment]
    ) -> EventRejection {
        let expected = configured.map { "\"\($0)\"" }.joined(separator: " or ")
        return EventRejection(
            field: "environment",
            reason: "\"\(given)\" is not configured for this app: expected \(expected.isEmpty ? "none" : expected), "
                + "as the setting apns.environments says")
    }
}
