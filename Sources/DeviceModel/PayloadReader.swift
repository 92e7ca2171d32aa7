/// Reads the body of a Live Activity push and checks what Apple documents about it: keys, types and what each event
/// needs.
///
/// It makes one pass, and allocates nothing for a valid body. It shares no code with the payload writer, as a second
/// opinion. Keys are compared as written; a key of `aps` with an escape counts as unknown. The server checks the size
/// limit.
public enum PayloadReader {
    /// Latest date that is accepted, in the year 5138. Seconds since 1970.
    public static let dateSecondsMax: Int64 = 100_000_000_000

    /// - Throws: `.unreadable` when it is not one JSON object holding an object `aps`; `.meaning` when `aps` is not
    ///   what ActivityKit takes.
    public static func read(_ body: Span<UInt8>) throws(PayloadFault) -> PushContent {
        var fields = Fields()
        var meaning: PayloadFault?
        do {
            meaning = try Self.scan(body, into: &fields)
        } catch {
            throw PayloadFault(kind: .unreadable, key: "", problem: "byte \(error.offset): expected \(error.expected)")
        }
        guard fields.foundAPS else { throw PayloadFault(kind: .unreadable, key: "aps", problem: "missing") }
        if let meaning { throw meaning }
        try fields.check()
        return fields.content
    }

    /// What has been read so far. `seen` has a bit per key of `aps`.
    private struct Fields {
        var content = PushContent()
        var foundAPS = false
        var seen: UInt32 = 0

        func has(_ key: Key) -> Bool { self.seen & key.bit != 0 }

        /// Checks what an event requires and forbids.
        func check() throws(PayloadFault) {
            try self.require(.event)
            try self.require(.timestamp)
            switch self.content.event {
            case .start:
                for key in [Key.contentState, .attributesType, .attributes, .alert] { try self.require(key) }
                try self.forbid(.dismissalDate)
                if self.has(.inputPushToken), self.has(.inputPushChannel) {
                    throw PayloadFault(
                        kind: .meaning, key: "aps.input-push-channel", problem: "given together with input-push-token")
                }
            case .update:
                try self.require(.contentState)
                for key in [Key.dismissalDate, .attributesType, .attributes, .inputPushToken, .inputPushChannel] {
                    try self.forbid(key)
                }
            case .end:
                for key in [Key.attributesType, .attributes, .inputPushToken, .inputPushChannel] {
                    try self.forbid(key)
                }
            }
        }

        private func require(_ key: Key) throws(PayloadFault) {
            guard self.has(key) else { throw key.fault("missing, an event '\(self.content.event)' requires it") }
        }

        private func forbid(_ key: Key) throws(PayloadFault) {
            guard !self.has(key) else { throw key.fault("does not belong to an event '\(self.content.event)'") }
        }
    }

    /// The keys of `aps` that mean something to a Live Activity.
    private enum Key: UInt8, CaseIterable {
        case event, timestamp, contentState, alert, staleDate, dismissalDate, relevanceScore, attributesType,
            attributes, inputPushToken,
            inputPushChannel

        var bit: UInt32 { 1 << UInt32(self.rawValue) }

        var name: StaticString {
            switch self {
            case .event: return "event"
            case .timestamp: return "timestamp"
            case .contentState: return "content-state"
            case .alert: return "alert"
            case .staleDate: return "stale-date"
            case .dismissalDate: return "dismissal-date"
            case .relevanceScore: return "relevance-score"
            case .attributesType: return "attributes-type"
            case .attributes: return "attributes"
            case .inputPushToken: return "input-push-token"
            case .inputPushChannel: return "input-push-channel"
            }
        }

        func fault(_ problem: String) -> PayloadFault {
            PayloadFault(kind: .meaning, key: "aps.\(self.name)", problem: problem)
        }
    }

    /// Apple's general keys that a payload may carry without effect on a Live Activity.
    private static let inertKeys: [StaticString] = [
        "badge", "category", "content-available", "filter-criteria", "interruption-level", "mutable-content", "sound",
        "target-content-id",
        "thread-id",
    ]

    /// Returns the first fault of meaning, but continues to the end: whether the body is JSON at all is more important.
    private static func scan(_ body: Span<UInt8>, into fields: inout Fields) throws(JSONScan.Fault) -> PayloadFault? {
        var at = 0
        var meaning: PayloadFault?
        JSONScan.skipSpace(body, &at)
        var members = Members()
        while let name = try members.next(body, &at) {
            if Self.matches(body, name, "aps") {
                guard !fields.foundAPS else {
                    throw JSONScan.Fault(offset: name.lowerBound, expected: "one 'aps', this is a second")
                }
                guard JSONScan.peek(body, at) == UInt8(ascii: "{") else {
                    throw JSONScan.Fault(offset: at, expected: "an object")
                }
                fields.foundAPS = true
                if let fault = try Self.scanAPS(body, &at, into: &fields) { meaning = meaning ?? fault }
            } else {
                _ = try JSONScan.value(body, &at)
            }
        }
        JSONScan.skipSpace(body, &at)
        guard at == body.count else { throw JSONScan.Fault(offset: at, expected: "the end of the body") }
        return meaning
    }

    private static func scanAPS(_ body: Span<UInt8>, _ at: inout Int, into fields: inout Fields) throws(JSONScan.Fault)
        -> PayloadFault?
    {
        var meaning: PayloadFault?
        var members = Members()
        while let name = try members.next(body, &at) {
            let start = at
            let kind = try JSONScan.value(body, &at)
            guard let key = Self.key(body, name) else {
                if !Self.inertKeys.contains(where: { Self.matches(body, name, $0) }) {
                    let text = Bytes.copy(body, name.lowerBound..<min(name.upperBound, name.lowerBound + 64))
                    meaning =
                        meaning
                        ?? PayloadFault(
                            kind: .meaning, key: "aps",
                            problem: "unknown key '\(String(decoding: text, as: UTF8.self))'")
                }
                continue
            }
            if fields.has(key) {
                meaning = meaning ?? key.fault("given twice")
            }
            fields.seen |= key.bit
            do {
                try Self.take(key, kind, body, start..<at, into: &fields.content)
            } catch {
                meaning = meaning ?? error
            }
        }
        return meaning
    }

    private static func take(
        _ key: Key, _ kind: JSONScan.Kind, _ body: Span<UInt8>, _ range: Range<Int>, into content: inout PushContent
    ) throws(PayloadFault) {
        switch key {
        case .event:
            guard kind == .string, let event = Self.event(body, range) else {
                throw key.fault("expected \"start\", \"update\" or \"end\"")
            }
            content.event = event
        case .timestamp:
            content.stampSeconds = try Self.date(key, kind, body, range)
        case .contentState:
            content.contentState = try Self.object(key, kind, range)
        case .alert:
            content.alert = try Self.object(key, kind, range)
            try Self.checkAlert(body, range)
        case .staleDate:
            content.staleDateSeconds = try Self.date(key, kind, body, range)
        case .dismissalDate:
            content.dismissalDateSeconds = try Self.date(key, kind, body, range)
        case .relevanceScore:
            let spelling = kind == .number ? String(decoding: Bytes.copy(body, range), as: UTF8.self) : ""
            guard let number = Double(spelling), number.isFinite else { throw key.fault("expected a number") }
            content.relevanceScore = number
        case .attributesType:
            guard kind == .string, range.count > 2 else { throw key.fault("expected the name of a type as a string") }
            content.attributesType = range
        case .attributes:
            content.attributes = try Self.object(key, kind, range)
        case .inputPushToken:
            guard kind == .number, range.count == 1, body[range.lowerBound] == UInt8(ascii: "1") else {
                throw key.fault("expected 1")
            }
            content.inputPushToken = true
        case .inputPushChannel:
            guard kind == .string, range.count > 2 else { throw key.fault("expected a channel id as a string") }
            content.inputPushChannel = range
        }
    }

    private static func object(_ key: Key, _ kind: JSONScan.Kind, _ range: Range<Int>) throws(PayloadFault) -> Range<
        Int
    > {
        guard kind == .object else { throw key.fault("expected an object") }
        return range
    }

    /// Reads whole seconds since 1970. A fraction, an exponent or milliseconds are refused.
    private static func date(
        _ key: Key, _ kind: JSONScan.Kind, _ body: Span<UInt8>, _ range: Range<Int>
    ) throws(PayloadFault) -> Int64 {
        guard kind == .number else { throw key.fault("expected a number of seconds since 1970") }
        var seconds: Int64 = 0
        for index in range {
            guard JSONScan.isDigit(body[index]) else { throw key.fault("expected whole seconds since 1970") }
            seconds = seconds * 10 + Int64(body[index] - 0x30)
            guard seconds <= Self.dateSecondsMax else {
                throw key.fault("expected seconds since 1970, not milliseconds")
            }
        }
        return seconds
    }

    private static func event(_ body: Span<UInt8>, _ range: Range<Int>) -> PushEvent? {
        let text = range.lowerBound + 1..<range.upperBound - 1
        if Self.matches(body, text, "update") { return .update }
        if Self.matches(body, text, "end") { return .end }
        if Self.matches(body, text, "start") { return .start }
        return nil
    }

    /// Checks `title` and `body` (a string or `{"loc-key", "loc-args"}`) and `sound` (a string). Other keys have no
    /// documented effect and are ignored.
    private static func checkAlert(_ body: Span<UInt8>, _ range: Range<Int>) throws(PayloadFault) {
        var at = range.lowerBound
        var members = Members()
        do {
            while let name = try members.next(body, &at) {
                let start = at
                let kind = try JSONScan.value(body, &at)
                if Self.matches(body, name, "sound"), kind != .string {
                    throw PayloadFault(kind: .meaning, key: "aps.alert.sound", problem: "expected a string")
                }
                guard Self.matches(body, name, "title") || Self.matches(body, name, "body"), kind != .string else {
                    continue
                }
                guard kind == .object, try Self.hasLocalizationKey(body, start) else {
                    throw PayloadFault(
                        kind: .meaning, key: "aps.alert",
                        problem: "title and body are a string or {\"loc-key\", \"loc-args\"}")
                }
            }
        } catch let fault as PayloadFault {
            throw fault
        } catch {
            // Not reached: the whole body has been scanned before, and it was JSON.
            throw PayloadFault(kind: .unreadable, key: "aps.alert", problem: "not JSON")
        }
    }

    private static func hasLocalizationKey(_ body: Span<UInt8>, _ start: Int) throws(JSONScan.Fault) -> Bool {
        var at = start
        var found = false
        var members = Members()
        while let name = try members.next(body, &at) {
            let kind = try JSONScan.value(body, &at)
            if Self.matches(body, name, "loc-key") {
                guard kind == .string else { return false }
                found = true
            } else if Self.matches(body, name, "loc-args") {
                guard kind == .array else { return false }
            } else {
                return false
            }
        }
        return found
    }

    private static func key(_ body: Span<UInt8>, _ name: Range<Int>) -> Key? {
        for key in Key.allCases where Self.matches(body, name, key.name) { return key }
        return nil
    }

    private static func matches(_ body: Span<UInt8>, _ range: Range<Int>, _ text: StaticString) -> Bool {
        guard range.count == text.utf8CodeUnitCount else { return false }
        for index in 0..<range.count {
            // Safe: a literal's bytes live as long as the program, and the index is below their count.
            guard unsafe body[range.lowerBound + index] == text.utf8Start[index] else { return false }
        }
        return true
    }

    /// Steps through the members of one object. `next` returns a name without quotes and stops at its value, which the
    /// caller must read.
    private struct Members {
        private var begun = false

        mutating func next(_ body: Span<UInt8>, _ at: inout Int) throws(JSONScan.Fault) -> Range<Int>? {
            if self.begun {
                JSONScan.skipSpace(body, &at)
                if JSONScan.peek(body, at) == UInt8(ascii: "}") {
                    at += 1
                    return nil
                }
                try JSONScan.expect(UInt8(ascii: ","), body, &at)
                JSONScan.skipSpace(body, &at)
            } else {
                self.begun = true
                try JSONScan.expect(UInt8(ascii: "{"), body, &at)
                JSONScan.skipSpace(body, &at)
                if JSONScan.peek(body, at) == UInt8(ascii: "}") {
                    at += 1
                    return nil
                }
            }
            let start = at
            try JSONScan.string(body, &at)
            let name = start + 1..<at - 1
            JSONScan.skipSpace(body, &at)
            try JSONScan.expect(UInt8(ascii: ":"), body, &at)
            JSONScan.skipSpace(body, &at)
            return name
        }
    }
}
