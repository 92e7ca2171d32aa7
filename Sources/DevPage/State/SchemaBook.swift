public import DeviceModel
public import PushInspection
import PushModel
import Synchronization

/// A Swift type, a schema or a sample that somebody gave to decode content with.
public struct GivenSchema: Sendable {
    /// The document as it was read. A Swift type is its text.
    public let document: JSONTree
    /// The document's source: a file's name, or `page`.
    public let origin: String
    /// What the document says.
    public let schema: ContentSchema

    /// Reads a document.
    /// - Parameters:
    ///   - text: in UTF-8.
    ///   - origin: the document's source.
    /// - Throws: `ContentSchema.Fault` if it is neither a Swift type nor a schema nor a sample.
    public init(_ text: [UInt8], origin: String) throws(ContentSchema.Fault) {
        self.origin = origin
        (self.schema, self.document) = try ContentSchema.read(text)
    }

    /// The document's kind, in words.
    var kindName: String {
        switch self.schema.source {
        case .schema: "JSON Schema"
        case .sample: "sample"
        case .swift: "Swift type"
        }
    }

    /// A `content-state` that the schema accepts. For a sample, it is the sample itself.
    /// - Parameter nowSeconds: the clock, seconds since 1970. Dates that are made up are later.
    func example(nowSeconds: Int64) -> JSONTree {
        self.schema.source == .sample ? TokenHiding.hidden(self.document) : self.schema.example(nowSeconds: nowSeconds)
    }
}

/// What the apps' code expects of a `content-state`: one schema for each app, and one for all apps without their own.
/// Usable from any thread.
public final class SchemaBook: Sendable {
    private struct State {
        var ofAll: GivenSchema?
        var ofApps: [String: GivenSchema] = [:]
        var changeCount = 0
    }

    private let state = Mutex(State())

    init() {}

    /// Sets the schema of an app.
    /// - Parameter app: bundle id; `nil`: all apps without a schema of their own.
    func set(_ schema: GivenSchema, app: String?) {
        self.state.withLock { state in
            state.changeCount += 1
            if let app { state.ofApps[app] = schema } else { state.ofAll = schema }
        }
    }

    /// Removes the schema of an app.
    /// - Returns: whether there was one.
    func remove(app: String?) -> Bool {
        self.state.withLock { state in
            state.changeCount += 1
            guard let app else {
                defer { state.ofAll = nil }
                return state.ofAll != nil
            }
            return state.ofApps.removeValue(forKey: app) != nil
        }
    }

    /// Number of changes. A page that has another number asks for the schemas again.
    var changeCount: Int { self.state.withLock { $0.changeCount } }

    /// The schemas by bundle id, as the timeline takes them. An empty id means all apps without a schema of their own.
    var schemas: [String: ContentSchema] {
        Dictionary(self.all.map { ($0.app ?? "", $0.schema.schema) }, uniquingKeysWith: { first, _ in first })
    }

    /// The schema of an app, or of all apps without one of their own.
    func schema(ofApp app: String) -> GivenSchema? { self.state.withLock { $0.ofApps[app] ?? $0.ofAll } }

    /// Each schema with its app; `nil`: all apps without a schema of their own.
    var all: [(app: String?, schema: GivenSchema)] {
        self.state.withLock { state in
            (state.ofAll.map { [(nil, $0)] } ?? []) + state.ofApps.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
    }

    /// Why an app's code cannot decode what a push brings; `nil`: it can, or nobody gave a schema.
    /// - Parameters:
    ///   - content: what the push brings, as ranges of `body`.
    ///   - body: the push's body.
    ///   - app: gives the app's bundle id. It is called only if some app has a schema of its own.
    public func fault(in content: PushContent, of body: Span<UInt8>, app: () -> String) -> String? {
        let schema = self.state.withLock { state -> ContentSchema? in
            guard !state.ofApps.isEmpty else { return state.ofAll?.schema }
            return (state.ofApps[app()] ?? state.ofAll)?.schema
        }
        guard let schema else { return nil }
        func tree(_ range: Range<Int>) -> JSONTree? {
            var bytes: [UInt8] = []
            bytes.append(copying: body.extracting(range))
            return try? JSONTree.parse(bytes)
        }
        if content.event == .start, let attributes = tree(content.attributes), let type = tree(content.attributesType),
            let fault = schema.fault(inAttributes: attributes, type: type)
        {
            return fault
        }
        return tree(content.contentState).flatMap { schema.fault(in: $0) }
    }
}
