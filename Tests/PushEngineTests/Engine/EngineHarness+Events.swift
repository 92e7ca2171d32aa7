import Foundation
import PushEngine

/// Events as a producer would write them.
extension EngineHarness {
    static let startToken = "5747a7"
    static let token = "aa01"

    @discardableResult
    func register(
        token: String = EngineHarness.token, of activity: String = "a", environment: String? = nil,
        frequent: Bool = false,
        recordMillis: Int64? = nil
    ) -> Int64 {
        var fields = [#""event":"register""#, #""token":"\#(token)""#]
        if let environment { fields.append(#""environment":"\#(environment)""#) }
        if frequent { fields.append(#""frequent-updates":true"#) }
        return self.consume(key: activity, value: Self.object(fields), recordMillis: recordMillis)
    }

    @discardableResult
    func unregister(_ activity: String = "a") -> Int64 {
        self.consume(key: activity, value: #"{"event":"unregister"}"#)
    }

    /// - Parameters:
    ///   - n: number in the content state; `nil`: no content.
    ///   - at: seconds after the harness's start; `nil`: no `timestamp`.
    ///   - alert: title of the alert.
    ///   - padding: bytes that make the content larger.
    ///   - more: further fields, as JSON.
    @discardableResult
    func update(
        _ n: Int, of activity: String = "a", at: Int64? = nil, priority: Int? = nil, alert: String? = nil,
        padding: Int = 0,
        more: String..., recordMillis: Int64? = nil
    ) -> Int64 {
        self.consume(
            key: activity,
            value: Self.content("update", n, at: at, priority: priority, alert: alert, padding: padding, more: more),
            recordMillis: recordMillis)
    }

    @discardableResult
    func end(
        _ n: Int? = nil, of activity: String = "a", at: Int64? = nil, priority: Int? = nil, alert: String? = nil,
        padding: Int = 0,
        more: String...
    ) -> Int64 {
        self.consume(
            key: activity,
            value: Self.content("end", n, at: at, priority: priority, alert: alert, padding: padding, more: more))
    }

    @discardableResult
    func start(
        _ n: Int, of activity: String = "a", at: Int64? = nil, alert: String = "start",
        token: String = EngineHarness.startToken,
        environment: String? = nil, padding: Int = 0, attributes: String = "{}", more: String...,
        recordMillis: Int64? = nil
    ) -> Int64 {
        let environment = environment.map { #","environment":"\#($0)""# } ?? ""
        let fields = [
            #""to":{"start-token":"\#(token)"\#(environment)}"#, #""attributes-type":"Pizza""#,
            #""attributes":\#(attributes)"#,
        ]
        return self.consume(
            key: activity,
            value: Self.content("start", n, at: at, priority: nil, alert: alert, padding: padding, more: fields + more),
            recordMillis: recordMillis)
    }

    /// A time of the harness in seconds since 1970.
    static func seconds(_ afterStart: Int64) -> Int64 { 1_700_000_000 + afterStart }

    static func content(
        _ event: String, _ n: Int?, at: Int64?, priority: Int?, alert: String?, padding: Int, more: [String]
    ) -> String {
        var fields = [#""event":"\#(event)""#]
        if let at { fields.append(#""timestamp":\#(Self.seconds(at))"#) }
        if let n {
            let pad = padding == 0 ? "" : #","pad":"\#(String(repeating: "x", count: padding))""#
            fields.append(#""content-state":{"n":\#(n)\#(pad)}"#)
        }
        if let priority { fields.append(#""priority":\#(priority)"#) }
        if let alert { fields.append(#""alert":{"title":"\#(alert)","body":"b"}"#) }
        return Self.object(fields + more)
    }

    static func object(_ fields: [String]) -> String { "{" + fields.joined(separator: ",") + "}" }
}
