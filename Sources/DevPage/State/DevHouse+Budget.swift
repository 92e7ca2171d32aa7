import APNSSimulator
import DeviceModel
import PushEngine
import PushInspection
import PushWorker

/// Budgets of the worker and of the phone.
extension DevHouse {
    /// The budgets of an activity.
    /// - Returns: the worker's count, `nil` if the worker gives no report; and the phone's, `nil` if there is no phone
    ///   or it has no budget.
    func budgets(activity: String) async -> (worker: BudgetMeter?, phone: BudgetMeter?) {
        let phone = self.store.read { $0.phone(activity: activity) }
        let app = phone.flatMap { $0.app.isEmpty ? nil : $0.app }
        let worker = await self.worker.activityReport(key: activity, app: app).map { report in
            BudgetMeter(
                keeper: .worker(reserve: report.budget.reserve, defers: report.budget.policy == "defer"),
                perHour: report.budget.perHour, spent: report.budget.out,
                returnsInSeconds: report.budget.returnsInSeconds)
        }
        guard let perHour = self.settings.phoneBudgetPerHour, let phone,
            let device = self.simulator.device(token: phone.token)?.device
        else { return (worker, nil) }
        let spent = device.highPriorityCount(nowMillis: self.nowMillis)
        return (worker, BudgetMeter(keeper: .phone, perHour: perHour, spent: min(spent, perHour)))
    }

    /// The budgets of an audience.
    /// - Returns: the worker's counts for members without and with frequent updates; `nil`: the worker gives no report.
    func budgets(audience: String) async -> (plain: BudgetMeter, frequent: BudgetMeter)? {
        let app = self.store.read { $0.audiences.audience(named: audience)?.app }
        let asked = app.flatMap { $0.isEmpty ? nil : $0 }
        guard let report = await self.worker.audienceReport(id: audience, app: asked) else { return nil }
        func meter(_ budget: AudienceReport.Budget, isFrequent: Bool) -> BudgetMeter {
            BudgetMeter(
                keeper: .audience(reserve: budget.reserve, isFrequent: isFrequent), perHour: budget.perHour,
                spent: budget.out, returnsInSeconds: budget.returnsInSeconds)
        }
        return (meter(report.budget, isFrequent: false), meter(report.frequentBudget, isFrequent: true))
    }
}
