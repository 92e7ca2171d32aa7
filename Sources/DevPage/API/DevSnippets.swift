import PushInspection

/// Commands that a developer can paste to publish the first event, for the terminal and the page.
struct DevSnippets {
    let settings: DevPageSettings
    /// The page's origin, such as `http://127.0.0.1:8484`.
    let origin: String

    /// The activity for which each snippet publishes an event. Its phone appears without a command.
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
        (
            "Start by push",
            #"{"event": "start", "to": {"start-token": "\#(Self.token)"}, "attributes-type": "OrderAttributes", "attributes": {"number": 61}, "content-state": {"status": "Baking", "progress": 0.1}, "alert": {"title": "Order 61", "body": "We are baking."}}"#
        ),
        ("Register", #"{"event": "register", "token": "\#(Self.token)"}"#),
        (
            "End, with dismissal",
            #"{"event": "end", "dismissal-date": 1000000000, "content-state": {"status": "Delivered", "progress": 1}}"#
        ),
    ]
    /// A device token. Any hexadecimal digits will do, because the phones are simulated.
    private static let token = "00112233445566778899aabbccddeeff"

    /// Events for the page's editor.
    var samples: [(name: String, text: String)] {
        Self.samplesByName.map { ($0.name, self.naming($0.text)) }
    }

    /// Adds the app's name to an event where there are several apps, because the event must then name one.
    private func naming(_ event: String) -> String {
        let app = self.settings.appNamed
        return app.isEmpty ? event : #"{"app": \#(JSONTree.string(app).text), "# + event.dropFirst()
    }

    /// A first event, published in each of the ways.
    var all: [(name: String, text: String)] {
        self.all(activity: Self.activity, event: self.naming(Self.samplesByName[0].text))
    }

    /// One snippet for each way to publish an event.
    func all(activity: String, event: String) -> [(name: String, text: String)] {
        let kcat = Snippets.kcat(
            bootstrap: self.settings.bootstrapShown, topic: self.settings.eventsTopic, key: activity, event: event)
        return [
            ("curl", Snippets.curl(origin: self.origin, activity: activity, event: event)),
            ("kcat", kcat ?? "a line end in the key or event: kcat would end the record there"),
            ("Python", Snippets.python(origin: self.origin, activity: activity, event: event)),
            (
                "Wait in a test",
                "curl --fail-with-body -sS \(Snippets.quoted("\(self.origin)/wait-for?activity=\(Snippets.percentEncoded(activity))\(Self.wanted(event))&timeout=30"))"
            ),
        ]
    }

    /// The first value of the content, which a phone is expected to show.
    private static func wanted(_ event: String) -> String {
        guard case .object(let members)? = (try? JSONTree.parse(Array(event.utf8)))?["content-state"] else { return "" }
        let plain = members.filter { if case .string = $0.value { true } else { $0.value.double != nil } }
        // A person would look for a name rather than for a status that stays the same.
        guard let member = plain.first(where: { $0.name == "driverName" }) ?? plain.first else { return "" }
        return "&key=\(Snippets.percentEncoded(member.name))&value=\(Snippets.percentEncoded(member.value.plainText))"
    }
}
