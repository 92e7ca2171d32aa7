/// `alert` as Live Activities have it (Apple: "Starting and updating Live Activities with ActivityKit push notifications"). It is checked
/// here and carried as it came.
extension EventReader {
    private enum AlertField: UInt8, CaseIterable {
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

    /// The object `alert`, as it came.
    mutating func alert(_ bytes: Span<UInt8>) throws(EventRejection) -> ByteRange {
        guard try self.kind(bytes) == .object else {
            throw self.wrongValue(bytes, expected: "an object with “title” and “body”")
        }
        let start = self.cursor.index
        try self.openObject(bytes)
        var isFirst = true
        var seen: UInt8 = 0
        while let name = try self.nextName(bytes, isFirst: isFirst) {
            isFirst = false
            guard let field = self.alertField(bytes, name) else {
                throw Self.foreignAlertField(JSONEscape.text(of: name, in: bytes))
            }
            self.field = field.path
            guard seen & (1 << field.rawValue) == 0 else { throw self.reject("is given twice") }
            seen |= 1 << field.rawValue
            switch field {
            case .title:
                try self.alertText(bytes, keyPath: "alert.title.loc-key", argumentsPath: "alert.title.loc-args")
            case .body: try self.alertText(bytes, keyPath: "alert.body.loc-key", argumentsPath: "alert.body.loc-args")
            case .sound:
                let sound = try self.string(bytes, expected: "a file's name or “default”")
                guard !sound.content.isEmpty else { throw self.reject("is empty: expected a file's name or “default”") }
            }
            self.field = "alert"
        }
        let needed: UInt8 = 1 << AlertField.title.rawValue | 1 << AlertField.body.rawValue
        guard seen & needed == needed else {
            self.field = seen & (1 << AlertField.title.rawValue) == 0 ? AlertField.title.path : AlertField.body.path
            throw self.reject("is missing: an alert needs “title” and “body”")
        }
        return ByteRange(start: start, count: self.cursor.index - start)
    }

    private func alertField(_ bytes: Span<UInt8>, _ name: JSONString) -> AlertField? {
        if self.spells(bytes, name, AlertField.title.name) { return .title }
        if self.spells(bytes, name, AlertField.body.name) { return .body }
        if self.spells(bytes, name, AlertField.sound.name) { return .sound }
        return nil
    }

    /// A string, or `{"loc-key": …, "loc-args": […]}`.
    private mutating func alertText(
        _ bytes: Span<UInt8>, keyPath: StaticString, argumentsPath: StaticString
    ) throws(EventRejection) {
        let path = self.field
        switch try self.kind(bytes) {
        case .string:
            _ = try self.string(bytes, expected: "a string")
            return
        case .object: try self.openObject(bytes)
        case .array, .number, .bool, .null:
            throw self.wrongValue(bytes, expected: "a string or {\"loc-key\": …, \"loc-args\": […]}")
        }
        var (isFirst, hasKey, hasArguments) = (true, false, false)
        while let name = try self.nextName(bytes, isFirst: isFirst) {
            isFirst = false
            if self.spells(bytes, name, "loc-key") {
                self.field = keyPath
                guard !hasKey else { throw self.reject("is given twice") }
                hasKey = true
                let key = try self.string(bytes, expected: "the name of a localized text")
                guard !key.content.isEmpty else { throw self.reject("is empty: expected the name of a localized text") }
            } else if self.spells(bytes, name, "loc-args") {
                self.field = argumentsPath
                guard !hasArguments else { throw self.reject("is given twice") }
                hasArguments = true
                try self.arguments(bytes)
            } else {
                throw ForeignField.rejection(
                    of: JSONEscape.text(of: name, in: bytes), in: path, knows: ["loc-key", "loc-args"])
            }
            self.field = path
        }
        guard hasKey else {
            self.field = keyPath
            throw self.reject("is missing: expected the name of a localized text")
        }
    }

    /// An array of strings.
    private mutating func arguments(_ bytes: Span<UInt8>) throws(EventRejection) {
        guard try self.kind(bytes) == .array else { throw self.wrongValue(bytes, expected: "an array of strings") }
        var isFirst = true
        while true {
            do {
                guard try self.cursor.nextElement(bytes, isFirst: isFirst) else { return }
            } catch { throw self.rejection(of: error) }
            isFirst = false
            _ = try self.string(bytes, expected: "an array of strings")
        }
    }

    /// Ordinary notifications spell localized texts otherwise, and the phone would show nothing.
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
