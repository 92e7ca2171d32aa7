/// The fields of `alert` in a Live Activity (Apple: "Starting and updating Live Activities with ActivityKit push
/// notifications"). The alert is checked here, and passed on unchanged.
enum AlertField: UInt8, CaseIterable {
    case title, body, sound

    var name: StaticString {
        switch self {
        case .title: "title"
        case .body: "body"
        case .sound: "sound"
        }
    }

    var path: StaticString {
        switch self {
        case .title: "alert.title"
        case .body: "alert.body"
        case .sound: "alert.sound"
        }
    }
}

extension EventReader {
    /// Reads the object `alert`, and returns the range of its bytes. For `null` the range is empty: it withdraws an
    /// alert that was given before.
    mutating func alert(_ bytes: Span<UInt8>, isWithdrawn: inout Bool) throws(EventRejection) -> ByteRange {
        guard self.begins(bytes, with: UInt8(ascii: "{")) else {
            guard try self.kind(bytes) == .null else {
                throw self.wrongValue(bytes, expected: "an object with “title” and “body”")
            }
            _ = try self.skipValue(bytes)
            isWithdrawn = true
            return ByteRange()
        }
        let start = self.cursor.index
        try self.openObject(bytes)
        var isFirst = true
        var seen: UInt8 = 0
        while let field = try self.alertField(bytes, isFirst: isFirst) {
            isFirst = false
            self.field = .alert(field)
            guard seen & (1 << field.rawValue) == 0 else { throw self.reject("is given twice") }
            seen |= 1 << field.rawValue
            switch field {
            case .title, .body: try self.alertText(bytes, of: field)
            case .sound:
                let sound = try self.string(bytes, expected: "a file's name or “default”")
                guard !sound.content.isEmpty else { throw self.reject("is empty: expected a file's name or “default”") }
            }
            self.field = .field(.alert)
        }
        let needed: UInt8 = 1 << AlertField.title.rawValue | 1 << AlertField.body.rawValue
        guard seen & needed == needed else {
            self.field = .alert(seen & (1 << AlertField.title.rawValue) == 0 ? .title : .body)
            throw self.reject("is missing: an alert needs “title” and “body”")
        }
        return ByteRange(start: start, count: self.cursor.index - start)
    }

    /// Passes the next member's name, and returns its field; `nil` at the alert's end.
    private mutating func alertField(_ bytes: Span<UInt8>, isFirst: Bool) throws(EventRejection) -> AlertField? {
        if let start = self.cursor.memberStart(bytes, isFirst: isFirst) {
            if self.passesName(bytes, at: start, "title\":") { return .title }
            if self.passesName(bytes, at: start, "body\":") { return .body }
            if self.passesName(bytes, at: start, "sound\":") { return .sound }
        }
        guard let name = try self.nextName(bytes, isFirst: isFirst) else { return nil }
        if self.spells(bytes, name, AlertField.title.name) { return .title }
        if self.spells(bytes, name, AlertField.body.name) { return .body }
        if self.spells(bytes, name, AlertField.sound.name) { return .sound }
        throw Self.foreignAlertField(JSONEscape.text(of: name, in: bytes))
    }

    /// Reads a string, or `{"loc-key": …, "loc-args": […]}`.
    private mutating func alertText(_ bytes: Span<UInt8>, of part: AlertField) throws(EventRejection) {
        guard self.begins(bytes, with: UInt8(ascii: "{")) else {
            _ = try self.string(bytes, expected: "a string or {\"loc-key\": …, \"loc-args\": […]}")
            return
        }
        try self.openObject(bytes)
        var (isFirst, hasKey, hasArguments) = (true, false, false)
        while let isKey = try self.nameIsKey(bytes, of: part, isFirst: isFirst) {
            isFirst = false
            if isKey {
                self.field = .localizedKey(part)
                guard !hasKey else { throw self.reject("is given twice") }
                hasKey = true
                let key = try self.string(bytes, expected: "the name of a localized text")
                guard !key.content.isEmpty else { throw self.reject("is empty: expected the name of a localized text") }
            } else {
                self.field = .localizedArguments(part)
                guard !hasArguments else { throw self.reject("is given twice") }
                hasArguments = true
                try self.arguments(bytes)
            }
            self.field = .alert(part)
        }
        guard hasKey else {
            self.field = .localizedKey(part)
            throw self.reject("is missing: expected the name of a localized text")
        }
    }

    /// Passes the next member's name: “loc-key” or “loc-args”.
    /// - Returns: whether the name is “loc-key”; `nil` at the object's end.
    private mutating func nameIsKey(
        _ bytes: Span<UInt8>, of part: AlertField, isFirst: Bool
    ) throws(EventRejection) -> Bool? {
        if let start = self.cursor.memberStart(bytes, isFirst: isFirst) {
            if self.passesName(bytes, at: start, "loc-key\":") { return true }
            if self.passesName(bytes, at: start, "loc-args\":") { return false }
        }
        guard let name = try self.nextName(bytes, isFirst: isFirst) else { return nil }
        if self.spells(bytes, name, "loc-key") { return true }
        if self.spells(bytes, name, "loc-args") { return false }
        throw ForeignField.rejection(
            of: JSONEscape.text(of: name, in: bytes), in: part.path, knows: ["loc-key", "loc-args"])
    }

    /// Reads an array of strings.
    private mutating func arguments(_ bytes: Span<UInt8>) throws(EventRejection) {
        guard self.begins(bytes, with: UInt8(ascii: "[")) else {
            throw self.wrongValue(bytes, expected: "an array of strings")
        }
        var isFirst = true
        while true {
            do {
                guard try self.cursor.nextElement(bytes, isFirst: isFirst) else { return }
            } catch { throw self.rejection(of: error) }
            isFirst = false
            _ = try self.string(bytes, expected: "an array of strings")
        }
    }

    /// The rejection of a field that the alert of a Live Activity does not have. Ordinary notifications have other
    /// fields for localized texts, with which the phone would show nothing.
    private static func foreignAlertField(_ name: [UInt8]) -> EventRejection {
        let text = String(decoding: name, as: UTF8.self)
        let part: String
        switch text {
        case "title-loc-key", "title-loc-args": part = "title"
        case "loc-key", "loc-args": part = "body"
        default: return ForeignField.rejection(of: name, in: "alert", knows: AlertField.allCases.map(\.name))
        }
        return EventRejection(
            field: "alert.\(text)",
            reason:
                "belongs to ordinary notifications: a Live Activity takes {\"\(part)\": {\"loc-key\": …, \"loc-args\": […]}}"
        )
    }
}
