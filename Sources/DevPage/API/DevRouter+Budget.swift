import Hummingbird
import PushInspection
import PushModel

/// Requests about the hourly budget of an activity or audience: how much of it is spent.
extension DevRouter {
    func addBudget(to router: Router<BasicRequestContext>) {
        router.get("/api/budget") { request, _ in
            let (kind, id) = try Self.budgetAsked(request)
            guard kind == "activity" else {
                let meters = await self.house.budgets(audience: id)
                return DevAnswer.json([
                    "audience": .string(id), "worker": meters?.plain.json ?? .null,
                    "frequent": meters?.frequent.json ?? .null,
                ])
            }
            await self.house.look(at: id)
            let (worker, phone) = await self.house.budgets(activity: id)
            return DevAnswer.json([
                "activity": .string(id), "worker": worker?.json ?? .null, "phone": phone?.json ?? .null,
            ])
        }
    }

    private static func budgetAsked(_ request: Request) throws(DevRefusal) -> (kind: String, id: String) {
        let parameters = try FormQuery(of: request).parameters
        if let foreign = parameters.first(where: { !["activity", "audience"].contains($0.name) }) {
            throw DevRefusal(
                .badRequest, "“\(foreign.name.prefix(40))” is not a parameter: expected activity or audience, its id")
        }
        guard parameters.count < 2 else { throw DevRefusal(.badRequest, "expected one activity or one audience") }
        guard let asked = parameters.first, !asked.value.isEmpty else {
            throw DevRefusal(.badRequest, "“activity” is missing: expected /api/budget?activity=ID or ?audience=ID")
        }
        guard asked.value.utf8.count <= EventRules.keyByteCountMax else {
            throw DevRefusal(
                .badRequest,
                "“\(asked.name)” has \(asked.value.utf8.count) bytes: expected 1 to \(EventRules.keyByteCountMax)")
        }
        return (asked.name, asked.value)
    }
}
