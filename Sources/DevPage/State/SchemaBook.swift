public import PushInspection
import PushModel
import Synchronization

/// What somebody gave to decode by: a Swift type, a schema or a sample.
public struct GivenSchema: Sendable {
    /// As it was read; a Swift type as its text.
    public let document: JSONTree
    /// Where it is from: a file's name, or `page`.
    public let origin: String
    let schema: ContentSchema

    /// - Parameters:
    ///   - text: in UTF-8.
    ///   - origin: where it is from.
    /// - Throws: `ContentSchema.Fault` where it is none of the three.
    public init(_ text: [UInt8], origin: String) throws(ContentSchema.Fault) {
        self.origin = origin
        (self.schema, self.document) = try ContentSchema.read(text)
    }
}

/// What the apps' code asks of a `content-state`: one schema for each app, and one for all that have none of their own. From any thread.
public final class SchemaBook: Sendable {
    private struct State {
        var ofAll: GivenSchema?
        var ofApps: [String: GivenSchema] = [:]
    }

    private let state = Mutex(State())

    init() {}

    /// - Parameter app: bundle id; `nil`: all that have none of their own.
    func set(_ schema: GivenSchema, app: String?) {
        self.state.withLock { state in
            if let app { state.ofApps[app] = schema } else { state.ofAll = schema }
        }
    }

    /// - Returns: whether there was one.
    func remove(app: String?) -> Bool {
        self.state.withLock { state in
            guard let app else {
                defer { state.ofAll = nil }
                return state.ofAll != nil
            }
            return state.ofApps.removeValue(forKey: app) != nil
        }
    }

    /// As the timeline knows them.
    var schemas: [String: ContentSchema] {
        Dictionary(self.all.map { ($0.app ?? "", $0.schema.schema) }, uniquingKeysWith: { first, _ in first })
    }

    /// What was given for an app, or for all that have none of their own.
    func schema(ofApp app: String) -> GivenSchema? { self.state.withLock { $0.ofApps[app] ?? $0.ofAll } }

    /// Each with its app, `nil`: of all that have none of their own.
    var all: [(app: String?, schema: GivenSchema)] {
        self.state.withLock { state in
            (state.ofAll.map { [(nil, $0)] } ?? []) + state.ofApps.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        }
    }

    /// Why an app's code cannot decode content; `nil`: it can, or nobody said what it asks.
    /// - Parameter app: gives the app's bundle id; asked only where some app has a schema of its own.
    public func fault(in content: Span<UInt8>, app: () -> String) -> String? {
        let schema = self.state.withLock { state -> ContentSchema? in
            guard !state.ofApps.isEmpty else { return state.ofAll?.schema }
            return (state.ofApps[app()] ?? state.ofAll)?.schema
        }
        guard let schema else { return nil }
        var bytes: [UInt8] = []
        bytes.append(copying: content)
        guard let tree = try? JSONTree.parse(bytes) else { return nil }
        return schema.fault(in: tree)
    }
}
