import PushInspection

/// What a developer can paste to publish the first event, for the terminal and the page.
struct DevSnippets {
    let settings: DevPageSettings
    /// Such as `http://127.0.0.1:8484`.
    let origin: String

    /// An activity and an event that each snippet publishes; the phone comes by itself.
    private static let activity = "order-1"
    private static let samplesByName: [(name: String, text: String)] = [
        (
            "Delivery",
            #"{"event": "update", "priority": 10, "content-state": {"status": "On its way", "driverName": "Anne", "progress": 0.4}}"#
        ),
        (
            "Match",
            #"{"event": "update", "priority": 10, "content-state": {"homeTeam": "Lions", "awayTeam": "Bears", "homeScore": 1, "awayScore": 0, "minute": 23}}"#
        ),
        (
            "With an alert",
            #"{"event": "update", "content-state": {"status": "At the door", "driverName": "Anne", "progress": 1}, "alert": {"title": "Your order is here", "body": "Anne is at the door."}}"#
        ),
        (
            "A date from a server",
            #"{"event": "update", "priority": 10, "content-state": {"status": "Baking", "estimatedDeliveryTime": 1764000000}}"#
        ),
        ("End", #"{"event": "end", "content-state": {"status": "Delivered", "progress": 1}}"#),
    ]

    /// Events for the page's editor.
    var samples: [(name: String, text: String)] {
        Self.samplesByName.map { ($0.name, self.naming($0.text)) }
    }

    /// Where there are several apps, an event has to name one.
    private func naming(_ event: String) -> String {
        let app = self.settings.appNamed
        return app.isEmpty ? event : #"{"app": \#(JSONTree.string(app).text), "# + event.dropFirst()
    }

    /// One for each way to publish.
    var all: [(name: String, text: String)] {
        let event = self.naming(Self.samplesByName[0].text)
        let kcat = Snippets.kcat(
            bootstrap: self.settings.bootstrapShown, topic: self.settings.eventsTopic, key: Self.activity, event: event)
        return [
            ("curl", Snippets.curl(origin: self.origin, activity: Self.activity, event: event)),
            ("kcat", kcat ?? ""),
            ("Python", Snippets.python(origin: self.origin, activity: Self.activity, event: event)),
            (
                "Wait in a test",
                "curl --fail-with-body -sS \(Snippets.quoted("\(self.origin)/wait-for?activity=\(Self.activity)&key=driverName&value=Anne&timeout=30"))"
            ),
        ]
    }
}
