import DeviceModel

/// Which phones are known, and which give way to others.
extension Timeline {
    /// What is kept of a phone that gave way, so that it is found again when somebody asks for its activity.
    struct ForgottenPhone: Sendable {
        /// The newest; in lower-case hex, a secret.
        var token: String
        /// Whether the app has told of it.
        var isTold: Bool
        var app: String

        init(_ phone: SimulatedPhone) {
            (self.token, self.isTold, self.app) = (phone.token, phone.untoldToken == nil, phone.app)
        }
    }

    /// The phone behind a token, which is made known when it is new. - Returns: its id.
    @discardableResult
    public mutating func meet(token: String, activity: String, app: String) -> Int {
        let id: Int
        if let known = self.phonesByToken[ByteKey(token: token)] {
            id = known
        } else {
            if self.phones.count >= self.limits.phonesMax { self.forgetPhone() }
            id = self.nextPhoneID
            self.nextPhoneID += 1
            self.phones[id] = SimulatedPhone(id: id, activity: activity, token: token)
            self.phonesByToken[ByteKey(token: token)] = id
        }
        let onlyApp = self.app
        self.changePhone(id) { phone in
            if !activity.isEmpty { phone.activity = activity }
            if !app.isEmpty { phone.app = app }
            if phone.app.isEmpty { phone.app = onlyApp }
            if phone.untoldToken == token, !activity.isEmpty { phone.untoldToken = nil }
        }
        if !activity.isEmpty { self.forgottenPhones[activity] = nil }
        return id
    }

    private mutating func forgetPhone() {
        let all = Array(self.phones.values)
        let idle = all.filter { !self.attention.holds($0.activity) }
        let gone = idle.filter { $0.card == Shown.Card.dismissed.rawValue }
        let nameless = idle.filter { $0.activity.isEmpty }
        let first = [gone, nameless, idle, all].first { !$0.isEmpty } ?? []
        guard let forgotten = first.min(by: { $0.revision < $1.revision }) else { return }
        self.phones[forgotten.id] = nil
        // What was swiped away is over.
        if !forgotten.activity.isEmpty, !forgotten.isSwiped {
            if self.forgottenPhones.count >= self.limits.activitiesMax { self.forgottenPhones.removeAll() }
            self.forgottenPhones[forgotten.activity] = ForgottenPhone(forgotten)
        }
        for token in forgotten.tokens { self.phonesByToken[ByteKey(token: token)] = nil }
    }

    /// Somebody asks for an activity whose phone gave way to others: it is known again, with another id. What it shows is not known yet.
    mutating func recallPhone(activity: String) {
        guard let forgotten = self.forgottenPhones[activity], self.phone(activity: activity) == nil else { return }
        let id = self.meet(token: forgotten.token, activity: activity, app: forgotten.app)
        if !forgotten.isTold { self.changePhone(id) { $0.untoldToken = forgotten.token } }
    }

    /// Whether the worker takes an event that names this app; empty: none.
    public func isTaken(app: String) -> Bool {
        self.apps.isEmpty || (app.isEmpty ? self.apps.count == 1 : self.apps.contains(app))
    }
}
