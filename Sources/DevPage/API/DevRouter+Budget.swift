import Hummingbird
import PushInspection

/// What of an activity's hourly budget is spent.
extension DevRouter {
    func addBudget(to router: Router<BasicRequestContext>) {
        router.get("/api/budget") { request, _ in
            guard let activity = request.uri.queryParameters["activity"].map(String.init) else {
                throw DevRefusal(.badRequest, "“activity” is missing: expected /api/budget?activity=ID")
            }
            self.house.store.look(at: activity, nowMillis: self.house.nowMillis)
            let (worker, phone) = await self.house.budgets(activity: activity)
            return DevAnswer.json([
                "activity": .string(activity), "worker": worker?.json ?? .null, "phone": phone?.json ?? .null,
            ])
        }
    }
}
