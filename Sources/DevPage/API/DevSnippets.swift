import PushInspection

/// Commands that a developer can paste to publish the first event, for the terminal and the page.
struct DevSnippets {
    let settings: DevPageSettings
    /// The page's origin, such as `http://127.0.0.1:8484`.
    let origin: String

    /// The activity for which each snippet publishes an event. Its phone appears without a command.
    private static let activity = "order-1"
    /// A device token. Any hexadecimal digits will do, because the phones are simulated.
    private static let token = "00112233445566778899aabbccddeeff"
    private static let delivery =
        #"{"event": "update", "priority": 10, "content-state": {"status": "On its way", "driverName": "Anne", "progress": 0.4}}"#

    /// Events for the page's editor. Their moments are later than `nowSeconds`, the clock in seconds since 1970.
    /// - Parameter given: what the app's code decodes. The last samples are made from it. `nil`: nobody has said.
    func samples(nowSeconds: Int64, given: GivenSchema? = nil) -> [(name: String, text: String)] {
        let own = given.map { Self.samples(from: $0, nowSeconds: nowSeconds) } ?? []
        return (Self.samples(nowSeconds: nowSeconds) + own).map { ($0.0, self.naming($0.1)) }
    }

    /// Events that the app's code decodes: an update, an end, and a start if its attributes are known.
    private static func samples(from given: GivenSchema, nowSeconds: Int64) -> [(name: String, text: String)] {
        let content = given.example(nowSeconds: nowSeconds).text
        let name = "From your \(given.kindName)"
        let update = (name, #"{"event": "update", "priority": 10, "content-state": \#(content)}"#)
        let end = ("\(name): end", #"{"event": "end", "content-state": \#(content)}"#)
        guard let start = given.schema.exampleStart(nowSeconds: nowSeconds) else { return [update, end] }
        return [
            update, end,
            (
                "\(name): start by push",
                #"{"event": "start", "to": {"start-token": "\#(Self.token)"}, "input-push-token": 1, "attributes-type": \#(start.type.text), "attributes": \#(start.attributes.text), "content-state": \#(content), "alert": {"title": "Thank you", "body": "It has begun."}}"#
            ),
        ]
    }

    /// The moments in the samples. The page replaces them by later ones as time passes.
    static func moments(nowSeconds: Int64) -> [Int64] {
        [
            Self.deliverySeconds(nowSeconds), Self.dismissalSeconds(nowSeconds),
            ContentSchema.exampleDate(nowSeconds: nowSeconds),
        ]
    }

    private static func deliverySeconds(_ nowSeconds: Int64) -> Int64 { nowSeconds + 25 * 60 }
    private static func dismissalSeconds(_ nowSeconds: Int64) -> Int64 { nowSeconds + 15 * 60 }

    private static func samples(nowSeconds: Int64) -> [(name: String, text: String)] {
        [
            ("Delivery", Self.delivery),
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
                #"{"event": "update", "priority": 10, "content-state": {"status": "Baking", "estimatedDeliveryTime": \#(Self.deliverySeconds(nowSeconds))}}"#
            ),
            ("End", #"{"event": "end", "content-state": {"status": "Delivered", "progress": 1}}"#),
            (
                "Start by push",
                #"{"event": "start", "to": {"start-token": "\#(Self.token)"}, "input-push-token": 1, "attributes-type": "OrderAttributes", "attributes": {"order": "\#(Self.activity)"}, "content-state": {"status": "Baking", "progress": 0.1}, "alert": {"title": "Thank you", "body": "We are baking."}}"#
            ),
            ("Register", #"{"event": "register", "token": "\#(Self.token)"}"#),
            (
                "End, with dismissal",
                #"{"event": "end", "dismissal-date": \#(Self.dismissalSeconds(nowSeconds)), "content-state": {"status": "Delivered", "progress": 1}}"#
            ),
        ]
    }

    /// Adds the app's name to an event where there are several apps, because the event must then name one.
    private func naming(_ event: String) -> String {
        let app = self.settings.appNamed
        return app.isEmpty ? event : #"{"app": \#(JSONTree.string(app).text), "# + event.dropFirst()
    }

    /// Snippets that publish a first event, one for each way.
    var all: [(name: String, text: String)] {
        self.all(activity: Self.activity, event: self.naming(Self.delivery))
    }

    /// One snippet for each way to publish an event, and one that waits for it.
    func all(activity: String, event: String) -> [(name: String, text: String)] {
        let (bootstrap, topic) = (self.settings.bootstrapShown, self.settings.eventsTopic)
        let kcat = Snippets.kcat(bootstrap: bootstrap, topic: topic, key: activity, event: event)
        return [
            ("curl", Snippets.curl(origin: self.origin, activity: activity, event: event)),
            ("mailboat", Snippets.mailboat(bootstrap: bootstrap, topic: topic, key: activity, event: event)),
            ("kcat", kcat ?? "a line end in the key or event: kcat would end the record there"),
            (
                "Python, over Kafka",
                Snippets.python(bootstrap: bootstrap, topic: topic, key: activity, event: event)
            ),
            ("Python, over HTTP", Snippets.python(origin: self.origin, activity: activity, event: event)),
            ("Wait in a test", self.wait(activity: activity, event: event)),
        ]
    }

    /// The snippets that a terminal has room for below the page's address.
    var short: [(name: String, text: String)] { self.all.filter { !$0.text.hasPrefix("python3") } }

    private func wait(activity: String, event: String) -> String {
        let event = try? JSONTree.parse(Array(event.utf8))
        let kind = event?["to"]?["audience"] == nil ? "activity" : "audience"
        let query = "\(kind)=\(Snippets.percentEncoded(activity))\(Self.wanted(event))&timeout=30"
        return "curl --fail-with-body -sS \(Snippets.quoted("\(self.origin)/wait-for?\(query)"))"
    }

    /// Query parameters with a value of the content, which a phone is expected to show.
    private static func wanted(_ event: JSONTree?) -> String {
        guard case .object(let members)? = event?["content-state"] else { return "" }
        let plain = members.filter { if case .string = $0.value { true } else { $0.value.double != nil } }
        // A person would look for a name rather than for a status that stays the same.
        guard let member = plain.first(where: { $0.name == "driverName" }) ?? plain.first else { return "" }
        return "&key=\(Snippets.percentEncoded(member.name))&value=\(Snippets.percentEncoded(member.value.plainText))"
    }
}
