import Hummingbird
import PushInspection
import PushModel

/// Requests about how the developer wants cards to be drawn.
extension DevRouter {
    func addTemplates(to router: Router<BasicRequestContext>) {
        router.get("/api/templates") { _, _ in
            DevAnswer.json(["templates": .array(self.house.store.read { $0.templates.map(\.json) })])
        }
        router.post("/api/templates") { request, _ in
            let templates = try Self.templates(try await Self.document(of: request))
            self.house.store.change { $0.setTemplates(templates) }
            return DevAnswer.json(["count": .integer(templates.count)])
        }
    }

    private static func templates(_ document: JSONTree) throws(DevRefusal) -> [CardTemplate] {
        do { return try CardTemplate.read(document) } catch { throw DevRefusal(.badRequest, error.description) }
    }
}
