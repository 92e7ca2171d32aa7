import CommandSupport
import PushModel

/// Tells whether a configuration has the app of an event. Workers refuse events of other apps.
enum AppOfConfiguration {
    /// Why workers refuse the event; `nil`: they take it, or no configuration is known.
    /// - Parameter apps: bundle ids in the configuration; `nil`: there is no configuration.
    static func fault(of event: DecodedEvent, apps: [String]?) -> String? {
        guard let apps else { return nil }
        let app = String(decoding: event.text[event.appInText.range], as: UTF8.self)
        guard app.isEmpty ? apps.count != 1 : !apps.contains(app) else { return nil }
        return app.isEmpty
            ? "it names no app, and the configuration has \(NumberText.count(apps.count, "app"))"
            : "the configuration has no app \(TokenText.shortened(app))"
    }
}
