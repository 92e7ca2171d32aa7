import Hummingbird
import PushInspection
import PushModel

/// Requests about what the apps' code expects of a `content-state`.
extension DevRouter {
    func addSchemas(to router: Router<BasicRequestContext>) {
        router.get("/api/schemas") { _, _ in DevAnswer.json(self.schemas()) }
        router.put("/api/schemas") { request, _ in try await self.setSchema(request) }
        router.delete("/api/schemas") { request, _ in
            let app = try self.schemaApp(request)
            guard self.house.store.removeSchema(app: app) else {
                throw DevRefusal(
                    .notFound, app.map { "\($0) has no schema of its own" } ?? "there is no schema for all apps")
            }
            let hasOther = app != nil && self.house.store.schemas.all.contains { $0.app == nil }
            self.house.addNote(
                "\(self.decoder(app)) \(hasOther ? "as those of the other apps" : "whatever comes") from now on.")
            return DevAnswer.json(self.schemas())
        }
    }

    private func schemas() -> JSONTree {
        .array(
            self.house.store.schemas.all.map { app, given in
                [
                    "app": .optional(app), "origin": .string(given.origin),
                    "kind": .string(given.schema.source.rawValue), "document": given.document,
                    "type": .optional(given.schema.typeName),
                    "attributesType": .optional(given.schema.attributesTypeName),
                ]
            })
    }

    private func setSchema(_ request: Request) async throws -> Response {
        let app = try self.schemaApp(request)
        let text = try await Self.body(of: request)
        let given: GivenSchema
        do { given = try GivenSchema(text, origin: "page") } catch {
            throw DevRefusal(.badRequest, error.description)
        }
        self.house.store.setSchema(given, app: app)
        self.house.addNote(Self.note(decoder: self.decoder(app), kind: given.kindName))
        return DevAnswer.json(self.schemas())
    }

    /// The note about a schema, which may have come from the page's tab or from another client of the API.
    static func note(decoder: String, kind: String) -> String {
        "\(decoder) from now on by a \(kind) that was given to the page."
    }

    /// The app that the request names; `nil`: all apps.
    private func schemaApp(_ request: Request) throws(DevRefusal) -> String? {
        try Self.refuseParameters(of: request, besides: "app", meaning: "a bundle id")
        guard let app = try FormQuery(of: request)["app"] else { return nil }
        let known = self.house.settings.apps
        guard known.contains(app) else {
            throw DevRefusal(
                .badRequest, "“app” is “\(app.prefix(80))”: expected one of \(known.joined(separator: ", "))")
        }
        return app
    }

    private func decoder(_ app: String?) -> String {
        guard self.house.settings.apps.count > 1 else { return "The phones decode" }
        return app.map { "The phones of \($0) decode" } ?? "The phones of apps without a schema of their own decode"
    }
}
