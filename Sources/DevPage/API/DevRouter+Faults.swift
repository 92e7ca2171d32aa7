import APNSSimulator
import HTTPTypes
import Hummingbird
import PushInspection

/// Requests about faults of the simulated APNs, in the form of its control API.
extension DevRouter {
    func addFaults(to router: Router<BasicRequestContext>) {
        router.get("/api/faults") { _, _ in DevAnswer.json(self.faults()) }
        router.post("/api/faults") { request, _ in try await self.addFault(request) }
        router.delete("/api/faults") { _, _ in
            self.house.simulator.clearFaults()
            self.house.addNote("APNs is well again.")
            return DevAnswer.json(["done": "clear"])
        }
    }

    /// The faults of the simulated APNs, in words.
    func faults() -> JSONTree {
        let simulator = self.house.simulator
        let phones = self.house.store.read { $0.phonesInOrder.map { (id: $0.id, tokens: $0.tokens) } }
        let listed = simulator.faults().prefix(DevPageLimits.faultsShownMax).map { entry -> JSONTree in
            let phone = phones.first { $0.tokens.contains(entry.fault.tokenPrefix) }?.id
            return [
                "id": .integer(entry.id.rawValue), "fired": .integer(entry.fired),
                "text": .string(FaultWords.sentence(entry.fault, firedCount: entry.fired, phone: phone)),
            ]
        }
        let others = FaultWords.sentences(simulator.trouble).map { text -> JSONTree in ["text": .string(text)] }
        return .array(listed + others)
    }

    private func addFault(_ request: Request) async throws -> Response {
        var body = try await Self.body(of: request)
        // A token is a secret that the page does not know, so the page names the phone.
        if let document = try? JSONTree.parse(body), case .object(let members) = document,
            let number = document["phone"]
        {
            guard let id = Int(number.plainText), let phone = self.house.store.read({ $0.phones[id] }) else {
                throw DevRefusal(.notFound, "there is no phone \(number.text.prefix(40))")
            }
            body = JSONTree.object(members.filter { $0.name != "phone" } + [.init("token", .string(phone.token))]).bytes
        }
        let answer: APNSSimulator.FaultAnswer
        do {
            answer = try await self.house.simulator.takeFault(body)
        } catch {
            throw DevRefusal(.badRequest, error.text)
        }
        return self.say(answer)
    }

    private func say(_ answer: APNSSimulator.FaultAnswer) -> Response {
        switch answer {
        case .added(let id):
            self.addFaultNote { $0["id"] == .integer(id.rawValue) }
            return DevAnswer.json(["id": .integer(id.rawValue)], status: .created)
        case .done(let count):
            self.house.addNote("Something was done to \(count) connections of the worker.")
            return DevAnswer.json(["connections": .integer(count)])
        case .set:
            self.addFaultNote { $0["id"] == nil }
            return DevAnswer.json(["done": "set"])
        }
    }

    /// Writes into the timeline which faults apply from now on.
    private func addFaultNote(_ isMeant: (JSONTree) -> Bool) {
        guard case .array(let faults) = self.faults() else { return }
        let sentences = faults.filter(isMeant).compactMap { $0["text"]?.plainText }
        self.house.addNote(sentences.isEmpty ? "Something about APNs was changed." : sentences.joined(separator: " "))
    }
}
