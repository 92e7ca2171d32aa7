import Hummingbird
import PushInspection
import PushModel

/// What of an activity's hourly budget is spent.
extension DevRouter {
    func addBudget(to router: Router<BasicRequestContext>) {
        router.get("/api/budget") { request, _ in
            try Self.refuseParameters(of: request, besides: "activity", meaning: "its id")
            guard let activity = request.uri.queryParameters["activity"].map(String.init), !activity.isEmpty else {
                throw DevRefusal(.badRequest, "“activity” is missing: expected /api/budget?activity=ID")
            }
            guard activity.utf8.count <= EventRules.keyByteCountMax else {
                throw DevRefusal(
                    .badRequest,
                    "“activity” has \(activity.utf8.count) bytes: expected 1 to \(EventRules.keyByteCountMax)")
            }
            self.house.store.look(at: activity, nowMillis: self.house.nowMillis)
            let (worker, phone) = await self.house.budgets(activity: activity)
            return DevAnswer.json([
                "activity": .string(activity), "worker": worker?.json ?? .null, "phone": phone?.json ?? .null,
            ])
        }
    }
}
