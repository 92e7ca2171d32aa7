import PushModel
import Testing

/// Tests of the rejection of an unknown app. The rejection names the configured apps.
struct UnknownAppTests {
    private static func reason(_ given: String, _ configured: [String]) -> String {
        let bytes = Array(given.utf8)
        return EventRules.unknownApp(bytes.span, configured: configured).reason
    }

    @Test func theConfiguredAppsAndTheLikelyOneAreNamed() {
        #expect(
            Self.reason("com.example.curier", ["com.example.courier", "com.example.pizza"])
                == "\"com.example.curier\" is not configured in this worker: expected one of com.example.courier, "
                + "com.example.pizza; did you mean com.example.courier?")
        #expect(
            Self.reason("com.other", ["com.example.pizza"])
                == "\"com.other\" is not configured in this worker: expected com.example.pizza")
        // The only app is not named twice.
        #expect(Self.reason("com.example.piza", ["com.example.pizza"]).hasSuffix(": expected com.example.pizza"))
    }

    /// The rejection of an environment says what was expected, and which setting says so.
    @Test func theExpectedEnvironmentsAndTheirSettingAreNamed() {
        let rejection = EventRules.unknownEnvironment(.development, configured: [.production])
        #expect(rejection.field == "environment")
        #expect(
            rejection.reason == "\"development\" is not configured for this app: expected \"production\", "
                + "as the setting apns.environments says")
        #expect(EventRules.unknownEnvironment(.production, configured: []).reason.contains("expected none,"))
    }

    @Test func onlyAFewAreNamed() {
        let apps = (1...8).map { "com.example.app-number-\($0)" }
        #expect(Self.reason("x", apps).hasSuffix("com.example.app-number-5 and 3 more"))
    }
}
