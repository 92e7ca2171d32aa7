import APNSSimulator
import ChildProcesses
import DevPage
import Foundation
import Logging
import PushInspection
import ServiceLifecycle
import Testing

@testable import mailboat

/// Tests of the page of `mailboat dev` over its sockets, as a developer uses it with curl.
@Suite(.timeLimit(.minutes(5))) struct DevPageTests {
    struct House {
        var stage: DevStage
        var port: Int

        func get(_ path: String) async throws -> LocalHTTP.Answer {
            try #require(try await LocalHTTP.get(path, port: self.port))
        }

        func publish(_ event: String, activity: String = "order-1") async throws -> LocalHTTP.Answer {
            try #require(try await LocalHTTP.post("/events?activity=\(activity)", body: event, port: self.port))
        }

        /// Repeats `/wait-for` until it succeeds, for a minute. Each wait is short, because one exchange of `LocalHTTP`
        /// has a time limit.
        func waitFor(_ question: String) async throws -> LocalHTTP.Answer {
            let deadline = ContinuousClock.now + .seconds(60)
            while true {
                let answer = try await self.get("/wait-for?\(question)&timeout=4")
                if answer.status != 504 || ContinuousClock.now > deadline { return answer }
            }
        }

        func act(_ action: String, phone: Int) async throws -> LocalHTTP.Answer {
            try #require(try await LocalHTTP.post("/api/phones/\(phone)/\(action)", port: self.port))
        }
    }

    static func run(
        _ options: DevStage.Options, bootTime: Duration = .seconds(5), makesPhones: Bool = true,
        _ body: (House) async throws -> Void
    ) async throws {
        var logger = Logger(label: "dev")
        logger.logLevel = .error
        let stage = try await DevStage(options, logger: logger)
        let listening = AsyncStream<Int>.makeStream()
        var settings = stage.pageSettings
        settings.bootTime = bootTime
        settings.makesPhones = makesPhones
        let page = try DevPageService(
            settings, store: stage.store, simulator: stage.simulator, worker: stage.worker, logger: logger
        ) { address in listening.continuation.yield(address.port) }
        var configuration = ServiceGroupConfiguration(services: [page], logger: logger)
        configuration.maximumGracefulShutdownDuration = .seconds(1)
        let group = ServiceGroup(configuration: configuration)
        let serving = Task { try await group.run() }
        do {
            let port = try #require(await listening.stream.first { _ in true })
            try await body(House(stage: stage, port: port))
        } catch {
            serving.cancel()
            await stage.strike()
            throw error
        }
        await group.triggerGracefulShutdown()
        _ = await serving.result
        await stage.strike()
    }

    @Test func anEventIsPublishedShownAndExplained() async throws {
        let schema = try GivenSchema(Array(#"{"minutes":12}"#.utf8), origin: "sample.json")
        try await Self.run(DevStage.Options(apps: ["com.example.app"], kafkaPort: 0, schema: schema)) { house in
            // The page makes a phone for an unknown activity, and the phone shows the content.
            let published = try await house.publish(#"{"event":"update","priority":10,"content-state":{"minutes":12}}"#)
            #expect(published.status == 202)
            let shown = try await house.waitFor("activity=order-1&key=minutes&value=12")
            #expect(shown.status == 200, "\(shown.body)")
            #expect(shown.body.contains(#""verdict":{"word":"shown""#))

            // The reason has the words of `mailboat check`.
            let refused = try await house.publish(#"{"event":"update","contentState":{}}"#)
            #expect(refused.status == 400)
            #expect(
                refused.body.contains(
                    #""field":"contentState","reason":"is not a field of an event. Did you mean “content-state”?""#))

            // Content that the app cannot decode is not shown, and the wait says why.
            #expect(
                try await house.publish(#"{"event":"update","priority":10,"content-state":{"minuten":11}}"#).status
                    == 202)
            try await self.newest(house, has: "undecodable")
            let unmet = try await house.get("/wait-for?activity=order-1&key=minutes&value=11&timeout=0")
            #expect(unmet.status == 504)
            #expect(
                unmet.body.contains("“minutes” is 12, not 11. The last push: The app cannot decode the push"),
                "\(unmet.body)")
            #expect(unmet.body.contains("“minutes” is missing, and the app requires it"))

            try await self.phoneLife(house)
            try await self.startByPush(house)
            try await self.whatIsNoQuestion(house)
        }
    }

    /// The phone goes offline and returns, its token changes, and its user swipes the card away.
    private func phoneLife(_ house: House) async throws {
        #expect(try await house.act("offline", phone: 1).status == 200)
        #expect(try await house.act("offline", phone: 1).status == 409)
        #expect(
            try await house.publish(#"{"event":"update","priority":10,"content-state":{"minutes":10}}"#).status == 202)
        try await self.newest(house, has: "waiting")
        #expect(try await house.act("online", phone: 1).status == 200)
        #expect(try await house.waitFor("activity=order-1&key=minutes&value=10").status == 200)

        #expect(try await house.act("change-token", phone: 1).status == 200)
        #expect(
            try await house.publish(#"{"event":"update","priority":10,"content-state":{"minutes":9}}"#).status == 202)
        try await self.newest(house, has: "refused")
        #expect(try await house.act("register-token", phone: 1).status == 200)
        #expect(try await house.waitFor("activity=order-1&key=minutes&value=9").status == 200)

        #expect(try await house.act("swipe", phone: 1).status == 200)
        #expect(try await house.waitFor("activity=order-1&card=dismissed").status == 200)
        let found = try await house.get("/api/entries?search=is:refused%20status:410")
        #expect(found.status == 200 && found.body.contains("Unregistered"), "\(found.body)")

        let state = try await house.get("/api/state").body
        for phone in house.stage.store.read({ $0.phonesInOrder }) {
            #expect(phone.tokens.count == 2)
            for token in phone.tokens { #expect(!state.contains(token), "a whole device token is told") }
        }
    }

    /// A push starts a card, and the app reports the card's update token by itself.
    private func startByPush(_ house: House) async throws {
        let token = String(repeating: "5a", count: 32)
        let start =
            #"{"event":"start","to":{"start-token":"\#(token)"},"attributes-type":"Pizza","attributes":{},"content-state":{"minutes":30},"#
            + #""alert":{"title":"Pizza","body":"Baking"}}"#
        #expect(try await house.publish(start, activity: "order-9").status == 202)
        #expect(try await house.waitFor("activity=order-9&key=minutes&value=30").status == 200)
        let update = #"{"event":"update","priority":10,"content-state":{"minutes":29}}"#
        #expect(try await house.publish(update, activity: "order-9").status == 202)
        let shown = try await house.waitFor("activity=order-9&key=minutes&value=29")
        #expect(shown.status == 200, "\(shown.body)")
        // A token is hidden even where it is the name of a member of the content.
        let named = #"{"event":"update","priority":10,"content-state":{"\#(token)":1,"minutes":28}}"#
        #expect(try await house.publish(named, activity: "order-9").status == 202)
        let answer = try await house.waitFor("activity=order-9&key=\(token)&value=1")
        #expect(answer.status == 200 && answer.body.contains(#""5a5a5a5a…(64 digits)":1"#), "\(answer.body)")
        for path in ["/api/state", "/api/phones", "/api/entries?search=activity:order-9"] {
            #expect(try await !house.get(path).body.contains(token.prefix(33)), "\(path)")
        }
    }

    private func whatIsNoQuestion(_ house: House) async throws {
        for (path, status, text) in [
            ("/wait-for?key=a", 400, "“activity” is missing"),
            ("/api/entries?search=is:lost", 400, "is not a word that “is:” takes"),
            ("/api/entries?search=event:starts", 400, "“event:starts” is not a kind of event"),
            ("/api/entries?activity=order-1", 400, "“activity” is not a parameter: expected search"),
            ("/api/entries/100000", 404, "no such entry"), ("/nothing", 404, "no such page"),
        ] {
            let answer = try await house.get(path)
            #expect(answer.status == status, "\(path): \(answer)")
            #expect(answer.body.contains(text), "\(path): \(answer)")
        }
        #expect(try await house.act("explode", phone: 1).status == 404)
        #expect(try await house.act("offline", phone: 99).status == 404)
        let long = String(repeating: " ", count: 70_000)
        #expect(try await house.publish(#"{"event":"update","content-state":{}}"# + long).status == 413)
        #expect(try await house.get("/").body.contains("<title>Mailboat dev</title>"))
        #expect(try await house.get("/metrics").body.contains("mailboat_events_consumed_total"))
        let copies = try await house.get("/api/entries/1/copies").body
        #expect(
            copies.contains("curl --fail-with-body -sS 'http://127.0.0.1:\(house.port)/events?activity=order-1'"),
            "\(copies)")
        #expect(copies.contains("struct ContentState"))
        let again = try #require(try await LocalHTTP.post("/api/entries/1/replay", port: house.port))
        #expect(again.status == 202)
    }

    /// A registration that came too fast for the timeline is found when somebody asks about its activity.
    @Test func aPhoneWhoseRegistrationWasPassedOverIsFound() async throws {
        var options = DevStage.Options(apps: ["com.example.app"], kafkaPort: 0)
        options.limits.entriesPerSecondMax = 0
        try await Self.run(options) { house in
            let token = String(repeating: "c4", count: 32)
            #expect(
                try await house.publish(#"{"event":"register","token":"\#(token)"}"#, activity: "order-3").status == 202
            )
            let update = #"{"event":"update","priority":10,"content-state":{"minutes":7}}"#
            #expect(try await house.publish(update, activity: "order-3").status == 202)
            let shown = try await house.waitFor("activity=order-3&key=minutes&value=7")
            #expect(shown.status == 200 && shown.body.contains(#""app":"com.example.app""#), "\(shown.body)")
            #expect(!shown.body.contains(token))
            #expect(try await house.get("/api/entries?search=is:event").body.hasPrefix("[]"), "no event was read")
            // Nobody has registered a phone for this activity.
            let unknown = try await house.get("/wait-for?activity=order-4&timeout=0")
            #expect(unknown.status == 504 && unknown.body.contains("no phone has the activity “order-4”"), "\(unknown)")
        }
    }

    /// The timeline, and a wait that times out, say what the worker knows about the event.
    @Test func whatAnEventWaitsForIsSaid() async throws {
        try await Self.run(
            DevStage.Options(apps: ["com.example.app"], kafkaPort: 0), makesPhones: false
        ) { house in
            let update = #"{"event":"update","priority":10,"content-state":{"minutes":7}}"#
            #expect(try await house.publish(update, activity: "order-5").status == 202)
            let reason = "Waits for a token: nobody has registered one under this key"
            try await until("it is said that a token is waited for") {
                house.stage.store.read { timeline in
                    timeline.entries.contains { timeline.summary(of: $0).hasPrefix(reason) }
                }
            }
            let found = try await house.get("/api/entries?search=is:pending").body
            #expect(found.contains(#""wait":{"cause":"token","text":"\#(reason)"#), "\(found)")
            #expect(found.contains(#""untilText":"It is given up at","untilMillis":1"#), "\(found)")
            let unmet = try await house.get("/wait-for?activity=order-5&timeout=0").body
            #expect(unmet.contains("The last event: \(reason)") && unmet.contains("It is given up at "), "\(unmet)")
            // Once the activity has a token, the page no longer says that the event waits.
            let token = String(repeating: "e7", count: 32)
            #expect(
                try await house.publish(#"{"event":"register","token":"\#(token)"}"#, activity: "order-5").status == 202
            )
            #expect(try await house.waitFor("activity=order-5&key=minutes&value=7").status == 200)
            try await until("it is delivered") {
                house.stage.store.read { timeline in
                    !timeline.entries.contains { timeline.summary(of: $0).hasPrefix("Waits") }
                }
            }
        }
    }

    @Test func whatIsForManyIsShownByAll() async throws {
        try await Self.run(DevStage.Options(apps: ["com.example.app"], kafkaPort: 0)) { house in
            func post(_ path: String, _ body: String) async throws -> LocalHTTP.Answer {
                try #require(try await LocalHTTP.post(path, body: body, port: house.port))
            }
            // The audience has three hundred members with update tokens, and three hundred whose cards a push starts.
            for kind in ["update", "start"] {
                let joined = try await post(
                    "/api/members", #"{"audience":"match-7","count":300,"token-type":"\#(kind)"}"#)
                #expect(joined.status == 201, "\(joined)")
            }
            let start =
                #"{"event":"start","to":{"audience":"match-7"},"attributes-type":"Match","attributes":{},"content-state":{"home":0},"alert":{"title":"Kick-off","body":"Now"}}"#
            #expect(try await house.publish(start, activity: "match-7").status == 202)
            let started = try await house.waitFor("audience=match-7&key=home&value=0")
            #expect(started.status == 200 && started.body.contains(#""members":600"#), "\(started)")
            let update = #"{"event":"update","to":{"audience":"match-7"},"priority":10,"content-state":{"home":1}}"#
            #expect(try await house.publish(update, activity: "match-7").status == 202)
            #expect(try await house.waitFor("audience=match-7&key=home&value=1").status == 200)
            let budget = try await house.get("/api/budget?audience=match-7").body
            for meter in [
                #""worker":{"perHour":15,"spent":1,"left":14,"reserve":2"#, #""frequent":{"perHour":120,"spent":1"#,
            ] {
                #expect(budget.contains(meter), "\(budget)")
            }
            #expect(
                try await house.get("/api/budget?audience=nobody").body.contains(#""worker":null,"frequent":null"#))
            let audiences = try await house.get("/api/audiences").body
            #expect(audiences.contains(#""members":600,"startMembers":300"#), "an update token is the same member")
            // The cells are one long text of equal digits, which must not be hidden as a token.
            let field = try #require(audiences.firstRange(of: #""cells":""#)).upperBound
            #expect(audiences[field...].prefix { $0 != "\"" }.count == 600, "\(audiences)")
            #expect(try await post("/api/audiences/1/offline", "").status == 200)
            #expect(try await post("/api/audiences/1/watch?member=77", "").status == 200)
            #expect(try await post("/api/audiences/1/watch?member=601", "").status == 409)
            #expect(try await post("/api/members", #"{"audience":"match-7","count":5001}"#).status == 400)
            for round in 0..<2 {
                let answer = try await post("/api/members", #"{"audience":"match-8","count":5000}"#)
                #expect(answer.status == (round == 0 ? 201 : 409), "10,000 members in all: \(answer)")
            }

            // The page shows a channel when a broadcast goes out on it.
            let made = try await post("/api/channels", #"{"storage":"most-recent"}"#)
            let channel = try #require(house.stage.simulator.channels().first?.id)
            #expect(made.status == 201 && made.body.contains(channel), "\(made)")
            #expect(try await post("/api/channels/listeners", #"{"channel":"\#(channel)"}"#).status == 201)
            #expect(try await post("/api/channels/listeners", #"{"channel":"none"}"#).status == 404)
            let key = try #require(channel.addingPercentEncoding(withAllowedCharacters: .alphanumerics))
            let event = #"{"event":"update","to":{"channel":"\#(channel)"},"content-state":{"home":2}}"#
            #expect(try await house.publish(event, activity: key).status == 202)
            let shown = try await house.waitFor("activity=\(key)&key=home&value=2")
            #expect(shown.status == 200, "\(shown)")
            #expect(try await house.get("/api/entries?search=is:sent").body.contains("the phone that listens"))
            #expect(try await post("/api/channels/delete", #"{"channel":"\#(channel)"}"#).status == 200)

            let tokens = house.stage.store.read { $0.audiences.audiences.flatMap { $0.members.prefix(5).map(\.token) } }
            let state = try await house.get("/api/state").body
            for token in tokens { #expect(!state.contains(token), "a whole device token is told") }
        }
    }

    @Test func faultsAndTemplatesAreTakenOrExplained() async throws {
        try await Self.run(DevStage.Options(apps: ["com.example.app"], kafkaPort: 0)) { house in
            func post(_ path: String, _ body: String) async throws -> LocalHTTP.Answer {
                try #require(try await LocalHTTP.post(path, body: body, port: house.port))
            }
            let update = #"{"event":"update","priority":10,"content-state":{"minutes":12}}"#
            #expect(try await house.publish(update).status == 202)
            #expect(try await house.waitFor("activity=order-1&key=minutes&value=12").status == 200)
            let fault =
                #"{"kind":"answer","status":410,"reason":"Unregistered","timestampMillis":1,"count":1,"phone":1}"#
            #expect(try await post("/api/faults", fault).status == 201)
            let faults = try await house.get("/api/faults").body
            #expect(faults.contains("APNs answers 410 Unregistered to phone 1, once."), "\(faults)")
            #expect(try await post("/api/faults", #"{"kind":"answer","phone":99}"#).status == 404)
            let wrong = try await post("/api/faults", #"{"kind":"flood"}"#)
            #expect(wrong.status == 400 && wrong.body.contains("'kind' is 'flood'"), "\(wrong)")
            let cleared = try #require(try await LocalHTTP.delete("/api/faults", port: house.port))
            #expect(cleared.status == 200)
            #expect(try await house.get("/api/faults").body.hasPrefix("[]"))

            #expect(try await post("/api/templates", #"{"title":"minutes"}"#).status == 200)
            #expect(try await house.get("/api/phones").body.contains(#""template":"own","headline":"12""#))
            let unknown = try await post("/api/templates", #"{"titel":"minutes"}"#)
            #expect(unknown.status == 400 && unknown.body.contains("“titel” is not a field"), "\(unknown)")
            #expect(try await post("/api/templates", "{").status == 400)
        }
    }

    @Test func aSchemaIsGivenAndTakenAwayAndABudgetIsSpent() async throws {
        var options = DevStage.Options(apps: ["com.example.app", "com.example.other"], kafkaPort: 0)
        options.phoneBudgetPerHour = 16
        try await Self.run(options, bootTime: .milliseconds(100)) { house in
            func send(_ method: String, _ path: String, _ body: String = "") async throws -> LocalHTTP.Answer {
                try #require(try await LocalHTTP.send(method, path, body: body, port: house.port))
            }
            func update(_ minutes: Int, app: String = "com.example.app", activity: String = "order-1") async throws {
                let event =
                    #"{"app":"\#(app)","event":"update","priority":10,"content-state":{"minutes":\#(minutes)}}"#
                #expect(try await house.publish(event, activity: activity).status == 202)
            }
            #expect(try await send("GET", "/api/schemas").body.hasPrefix("[]"))
            for (path, body, status, text) in [
                (
                    "/api/schemas", #"{"type":"object","properties":{"a":{"minimum":1}}}"#, 400,
                    "“a” has “minimum”: expected"
                ),
                ("/api/schemas", "{", 400, "it is not JSON: at byte 1"),
                ("/api/schemas", "[]", 400, "it is not a JSON object"),
                ("/api/schemas?app=com.example.none", "{}", 400, "expected one of com.example.app, com.example.other"),
                ("/api/schemas?apq=com.example.app", "{}", 400, "“apq” is not a parameter: expected app, a bundle id"),
                ("/api/schemas?app=com.example.app&app=com.example.other", "{}", 400, "“app” is given twice"),
                ("/api/schemas", String(repeating: " ", count: 70_000), 413, "more than 65536 bytes"),
            ] {
                let answer = try await send("PUT", path, body)
                #expect(answer.status == status && answer.body.contains(text), "\(answer)")
            }
            #expect(try await send("DELETE", "/api/schemas").status == 404)

            // Each app may have its own schema. One more schema is for all other apps.
            #expect(try await send("PUT", "/api/schemas?app=com.example.app", #"{"hours":1}"#).status == 200)
            try await update(12)
            try await self.newest(house, has: "undecodable")
            try await update(12, app: "com.example.other", activity: "order-2")
            #expect(try await house.waitFor("activity=order-2&key=minutes&value=12").status == 200)
            #expect(try await send("PUT", "/api/schemas", #"{"minutes":1}"#).status == 200)
            #expect(try await send("DELETE", "/api/schemas?app=com.example.app").status == 200)
            #expect(
                try await house.get("/api/entries?search=is:note").body.contains(
                    "The phones of com.example.app decode as those of the other apps from now on."))
            #expect(try await send("DELETE", "/api/schemas").body.hasPrefix("[]"))
            try await update(11)
            #expect(try await house.waitFor("activity=order-1&key=minutes&value=11").status == 200)

            let long = String(repeating: "a", count: 1_025)
            let budget = try await house.get("/api/budget?activity=order-1").body
            #expect(
                budget.contains(#""worker":{"perHour":15,"spent":2,"left":13,"reserve":2,"level":"plenty""#),
                "\(budget)")
            #expect(budget.contains(#""phone":{"perHour":16,"spent":2"#), "\(budget)")
            #expect(try await house.get("/api/budget?activity=nobody").body.contains(#""worker":null,"phone":null"#))
            for query in [
                "", "?activity=", "?audience=", "?activity=a&activity=b", "?activity=a&audience=b",
                "?activity=a&app=b", "?activity=" + long,
            ] {
                #expect(try await house.get("/api/budget" + query).status == 400, "\(query)")
            }

            try await self.restart(house, update: update)
        }
    }

    /// A push that arrives while the phone starts up waits, and the phone's token stays the same.
    private func restart(
        _ house: House, update: (_ minutes: Int, _ app: String, _ activity: String) async throws -> Void
    ) async throws {
        let phone = try #require(house.stage.store.read { $0.phone(activity: "order-1") })
        #expect(try await house.act("reboot", phone: phone.id).status == 200)
        try await update(10, "com.example.app", "order-1")
        #expect(try await house.waitFor("activity=order-1&key=minutes&value=10").status == 200)
        let after = try #require(house.stage.store.read { $0.phone(activity: "order-1") })
        #expect(after.tokens == phone.tokens)
        #expect(
            try await house.get("/api/entries?search=is:note%20phone:\(phone.id)").body.contains(
                "The phone is up again"))
        #expect(try await house.act("offline", phone: phone.id).status == 200)
        #expect(try await house.act("reboot", phone: phone.id).status == 409, "it is away")
    }

    /// With several apps, each event must name its app. An event without an app is refused at once. An event that names
    /// an app makes the phone.
    @Test func anEventThatNamesNoAppOfTheWorkerIsRefused() async throws {
        let options = DevStage.Options(apps: ["com.example.app", "com.example.other"], kafkaPort: 0)
        try await Self.run(options) { house in
            func event(_ app: String) -> String {
                #"{\#(app)"event":"update","priority":10,"content-state":{"minutes":12}}"#
            }
            for (app, text) in [
                ("", "“app” is missing: expected one of com.example.app, com.example.other"),
                (#""app":"com.x","#, "“app” is “com.x”: expected one of com.example.app, com.example.other"),
            ] {
                let refused = try await house.publish(event(app))
                #expect(refused.status == 400 && refused.body.contains(text), "\(refused)")
            }
            #expect(house.stage.store.read { $0.phones.isEmpty })
            #expect(try await house.publish(event(#""app":"com.example.other","#)).status == 202)
            let shown = try await house.waitFor("activity=order-1&key=minutes&value=12")
            #expect(shown.status == 200, "\(shown)")

            func make(_ app: String) async throws -> LocalHTTP.Answer {
                let body = #"{"activity":"order-2","app":\#(app)}"#
                return try #require(try await LocalHTTP.post("/api/activities", body: body, port: house.port))
            }
            #expect(try await make(#""com.x""#).body.contains("“app” is “com.x”"))
            #expect(try await make("7").body.contains("“app” is not a string"))
            #expect(try await make(#""com.example.other""#).status == 201)
            #expect(house.stage.store.read { $0.phone(activity: "order-2")?.app } == "com.example.other")
        }
    }

    @Test func noCopyHasAWholeDeviceToken() async throws {
        try await Self.run(DevStage.Options(apps: ["com.example.app"], kafkaPort: 0)) { house in
            let token = String(repeating: "c3", count: 32)
            let event = #"{"event":"update","priority":10,"content-state":{"minutes":12,"note":"\#(token)"}}"#
            #expect(try await house.publish(event).status == 202)
            #expect(try await house.waitFor("activity=order-1&key=minutes&value=12").status == 200)
            try await self.newest(house, has: "shown")
            for entry in house.stage.store.read({ $0.entries }) {
                let copies = try await house.get("/api/entries/\(entry.id)/copies")
                #expect(copies.status == 200 && !copies.body.contains(token), "\(copies.body)")
            }
        }
    }

    /// Other phones appear while a phone starts up, until the page has forgotten that phone. It comes back when an
    /// event names its activity.
    @Test func aPhoneThatIsForgottenWhileItStartsUpComesBack() async throws {
        try await Self.run(DevStage.Options(apps: ["com.example.app"], kafkaPort: 0), bootTime: .seconds(3)) { house in
            // The test asks nothing about this phone until it is forgotten. A question or an event would make it the
            // newest phone.
            let made = try await LocalHTTP.post("/api/activities", body: #"{"activity":"lone"}"#, port: house.port)
            #expect(made?.status == 201)
            // Reading the phone's registration makes it the newest phone, so the test waits for that first.
            try await until("its registration is read") {
                house.stage.store.read { $0.entries.contains { $0.activity == "lone" } }
            }
            let phone = try #require(house.stage.store.read { $0.phone(activity: "lone") })
            #expect(try await house.act("reboot", phone: phone.id).status == 200)
            #expect(house.stage.simulator.device(token: phone.token)?.isOnline == false)
            for number in 0..<house.stage.store.read({ $0.limits.phonesMax }) {
                let digits = String(number, radix: 16)
                let token = String(repeating: "0", count: 64 - digits.count) + digits
                let register = #"{"event":"register","token":"\#(token)"}"#
                #expect(try await house.publish(register, activity: "other-\(number)").status == 202)
            }
            try await until("the phone is forgotten") { house.stage.store.read { $0.phones[phone.id] } == nil }
            try await until("it is up again") {
                house.stage.simulator.device(token: phone.token)?.isOnline == true
            }

            // The page finds the phone again when an event names its activity.
            let update = #"{"event":"update","priority":10,"content-state":{"minutes":12}}"#
            #expect(try await house.publish(update, activity: "lone").status == 202)
            let shown = try await house.waitFor("activity=lone&key=minutes&value=12")
            #expect(shown.status == 200, "\(shown.body)")
        }
    }

    /// Waits until the newest push has this verdict.
    private func newest(_ house: House, has word: String) async throws {
        try await until("a push is \(word)") {
            house.stage.store.read { $0.phonesInOrder.last?.lastVerdict?.word.rawValue } == word
        }
    }
}
