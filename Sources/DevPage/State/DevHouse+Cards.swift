import APNSSimulator
import DeviceModel
import Logging
import PushInspection
import Synchronization

/// Cards that starts have put up, and the update tokens that their apps report.
extension DevHouse {
    /// The card of a phone. A push-to-start token may have several cards; of these, the one that `start` has put up.
    static func card(of device: SimulatedDevice, startedBy start: SimulatedPhone.Start?) -> Device {
        // Without starts, the token is the card's own. The newest card of an audience's member is drawn.
        guard let start, !device.starts.isEmpty else { return device.device }
        return device.starts.last { $0.messageID == start.messageID }?.card ?? Device()
    }

    /// An update token that an app has not yet reported to its server.
    struct UnregisteredToken {
        var token: String
        /// The phone with a card; `nil`: the member is drawn as a pixel.
        var phone: SimulatedPhone?
        /// The audiences of the phone's push-to-start token.
        var audiences: [String]
    }

    /// Plays the apps that a push has started: each receives its card's update token and reports it to its server.
    func takeUpdateTokens() async {
        for unregistered in self.readUpdateTokens() { await self.register(unregistered) }
        for phone in self.store.change({ $0.takeDebtors() }) {
            await self.register(UnregisteredToken(token: phone.token, phone: phone, audiences: []))
        }
    }

    func readUpdateTokens() -> [UnregisteredToken] {
        let returned = self.updateTokensTaken.withLock { taken in
            let (tokens, next) = self.simulator.updateTokens(since: taken)
            taken = next
            return tokens
        }
        return returned.map { token in
            let unregistered = self.store.change { timeline -> UnregisteredToken in
                let audiences = timeline.audienceNames(ofMember: token.startToken)
                timeline.addUpdateToken(token.updateToken, ofStartToken: token.startToken)
                var unregistered = UnregisteredToken(token: token.updateToken, audiences: audiences)
                guard timeline.phone(token: token.updateToken) == nil,
                    let phone = timeline.phone(startedBy: token.messageID) ?? timeline.phone(token: token.startToken)
                else { return unregistered }
                timeline.addToken(token.updateToken, to: phone.id, isReported: false)
                unregistered.phone = timeline.phones[phone.id]
                return unregistered
            }
            if let phone = unregistered.phone {
                self.addNote("The push put up a card, and the app was given its update token.", on: phone)
            }
            return unregistered
        }
    }

    func register(_ unregistered: UnregisteredToken) async {
        guard self.settings.makesPhones else { return }
        guard unregistered.audiences.isEmpty else {
            return await self.join(unregistered.audiences, updateToken: unregistered.token)
        }
        guard let phone = unregistered.phone else { return }
        // The push may be seen before the event that names the activity.
        guard !phone.activity.isEmpty else { return self.store.change { $0.oweToken(phone.id) } }
        do {
            try await self.register(unregistered.token, activity: phone.activity, app: phone.app)
        } catch {
            self.logger.warning("an update token was not registered", metadata: ["cause": "\(error)"])
        }
    }
}
