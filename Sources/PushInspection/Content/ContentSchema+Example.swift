/// Makes content that the app decodes.
extension ContentSchema {
    /// Seconds between the clock and each date of the example.
    private static let dateDistanceSeconds: Int64 = 25 * 60
    /// Seconds between 1970 and 2001, from which a Swift `Date` counts.
    private static let referenceSeconds: Int64 = 978_307_200

    /// The value of each date of an example.
    /// - Parameter nowSeconds: the clock, seconds since 1970.
    public static func exampleDate(nowSeconds: Int64) -> Int64 {
        nowSeconds - Self.referenceSeconds + Self.dateDistanceSeconds
    }

    /// A `content-state` with a value for every key that the schema knows.
    /// - Parameter nowSeconds: the clock, seconds since 1970. Dates are later.
    public func example(nowSeconds: Int64) -> JSONTree {
        Self.example(of: self.shape, dateSeconds: Self.exampleDate(nowSeconds: nowSeconds))
    }

    /// An example of the `attributes-type` and `attributes` of a start; `nil`: the app's attributes are not known.
    /// - Parameter nowSeconds: the clock, seconds since 1970. Dates are later.
    public func exampleStart(nowSeconds: Int64) -> (type: JSONTree, attributes: JSONTree)? {
        guard let own = self.attributes, let shape = own.shape else { return nil }
        let dateSeconds = Self.exampleDate(nowSeconds: nowSeconds)
        return (.string(own.typeName), Self.example(of: shape, dateSeconds: dateSeconds))
    }

    private static func example(of shape: Shape, dateSeconds: Int64) -> JSONTree {
        if let allowed = shape.allowed.first(where: { $0 != .null }) { return allowed }
        if shape.isDate { return .number("\(dateSeconds)") }
        let isObject = !shape.properties.isEmpty || !shape.values.isEmpty
        switch shape.kinds.first(where: { $0 != .null }) ?? (isObject ? .object : .string) {
        case .object:
            let required = shape.required.filter { name in !shape.properties.contains { $0.name == name } }
            let others = shape.values.first.map { [Property(name: "key", shape: $0)] } ?? []
            let all = shape.properties + required.map { Property(name: $0, shape: Shape()) } + others
            return .object(
                all.map { .init($0.name, Self.example(of: $0.shape, dateSeconds: dateSeconds)) })
        case .array:
            let element = shape.items.map { Self.example(of: $0, dateSeconds: dateSeconds) }
            return .array(shape.isRange ? element + element : element)
        case .string: return .string(Self.texts.first { shape.expected.hasSuffix($0.type) }?.text ?? "text")
        case .number: return .number("0.5")
        case .integer: return .number("1")
        case .boolean: return .bool(true)
        case .null: return .null
        }
    }

    /// Example strings for Swift types that are decoded from a string.
    private static let texts: [(type: String, text: String)] = [
        (" URL", "https://example.com"), (" UUID", "123E4567-E89B-12D3-A456-426614174000"), (" Character", "x"),
        (" Data", "bWFpbGJvYXQ="),
    ]
}
