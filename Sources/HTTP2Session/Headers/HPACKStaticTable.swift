/// HPACK's static table (RFC 7541, Appendix A). The first entry has index 1.
enum HPACKStaticTable {
    /// The names, each with its values. An empty value means an entry without a value.
    private static let rows: [(name: StaticString, values: [StaticString])] = [
        (":authority", [""]), (":method", ["GET", "POST"]), (":path", ["/", "/index.html"]),
        (":scheme", ["http", "https"]),
        (":status", ["200", "204", "206", "304", "400", "404", "500"]), ("accept-charset", [""]),
        ("accept-encoding", ["gzip, deflate"]),
        ("accept-language", [""]), ("accept-ranges", [""]), ("accept", [""]), ("access-control-allow-origin", [""]),
        ("age", [""]),
        ("allow", [""]), ("authorization", [""]), ("cache-control", [""]), ("content-disposition", [""]),
        ("content-encoding", [""]),
        ("content-language", [""]), ("content-length", [""]), ("content-location", [""]), ("content-range", [""]),
        ("content-type", [""]),
        ("cookie", [""]), ("date", [""]), ("etag", [""]), ("expect", [""]), ("expires", [""]), ("from", [""]),
        ("host", [""]),
        ("if-match", [""]), ("if-modified-since", [""]), ("if-none-match", [""]), ("if-range", [""]),
        ("if-unmodified-since", [""]),
        ("last-modified", [""]), ("link", [""]), ("location", [""]), ("max-forwards", [""]),
        ("proxy-authenticate", [""]),
        ("proxy-authorization", [""]), ("range", [""]), ("referer", [""]), ("refresh", [""]), ("retry-after", [""]),
        ("server", [""]),
        ("set-cookie", [""]), ("strict-transport-security", [""]), ("transfer-encoding", [""]), ("user-agent", [""]),
        ("vary", [""]),
        ("via", [""]), ("www-authenticate", [""]),
    ]

    /// The 61 entries of the table, in order.
    static let entries: [(name: [UInt8], value: [UInt8])] = Self.rows.flatMap { row in
        row.values.map { (Self.bytes(row.name), Self.bytes($0)) }
    }

    private static func bytes(_ text: StaticString) -> [UInt8] {
        Array(UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// The index of the first entry with this name; `nil` if there is none.
    static func index(name: [UInt8]) -> Int? { self.entries.firstIndex { $0.name == name }.map { $0 + 1 } }

    /// The index of the entry with this name and value; `nil` if there is none. An entry without a value matches an
    /// empty value.
    static func index(name: [UInt8], value: [UInt8]) -> Int? {
        self.entries.firstIndex { $0.name == name && $0.value == value }.map { $0 + 1 }
    }
}
