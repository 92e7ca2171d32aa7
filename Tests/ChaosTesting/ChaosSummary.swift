import CommandSupport

/// The numbers of one chaos run, as `--summary FILE` writes them.
package struct ChaosSummary: Codable, Equatable {
    /// How long events were published and faults injected, minutes.
    var minutes: Double
    /// How often each kind of fault was injected.
    var faults: [String: Int]
    /// Number of records in the log of the events topic.
    var events: Int
    /// Number of pushes that reached a phone.
    var pushesAccepted: Int
    /// Number of pushes whose content an earlier push had already brought.
    var duplicatePushes: Int
    /// Number of alerts that the phone had already shown.
    var duplicateAlerts: Int
    /// Number of starts in `duplicatePushes`.
    var duplicateStarts: Int
    /// Number of events without any outcome.
    var eventsLost: Int
    var devicesChecked: Int
    /// Number of devices that show what they would show if every event had been pushed alone and in order.
    var devicesEquivalent: Int
    /// Number of devices that got more high-priority pushes in an hour than the budget allows.
    var budgetViolations: Int
    /// Number of broadcast channels.
    var channels: Int
    /// Number of broadcasts on these channels that APNs took.
    var broadcasts: Int
    /// Number of phones that listened to channels, whether they were always reachable or not.
    var listenersChecked: Int
    /// Number of listening phones that show what their channel's storage policy promises.
    var listenersEquivalent: Int
    /// Number of audiences.
    var audiences: Int
    /// Number of pushes to members of audiences that APNs took.
    var memberPushes: Int
    /// Number of readable pushes to members that repeated an earlier push of the same kind (`end` or not).
    var duplicateMemberPushes: Int
    /// Number of pushes to members that came too soon after another.
    var memberPushesTooSoon: Int
    /// Number of phones that were members at the end.
    var membersChecked: Int
    /// Number of members' phones that show their audience's newest state or its end, and had the alerts that were due.
    var membersEquivalent: Int
    /// Number of starts of audiences.
    var startOrders: Int
    /// Number of cards that these starts put up.
    var startCards: Int
    /// Number of cards on a phone that already had a card of the same start.
    var startSecondCards: Int
    /// Number of phones that a start had to reach, because they were members until its end. A phone counts once for
    /// each start.
    var startersChecked: Int
    /// Number of phones that have a card of a start. A phone counts once for each start.
    var startersStarted: Int
    /// Number of phones that have a card of a start, or a known reason for having none. A phone counts once for each
    /// start.
    var startersAccounted: Int

    /// Promises that the numbers show to be broken, in words.
    var faultsFound: [String] {
        var found: [String] = []
        if self.events == 0 { found.append("no event was published") }
        if self.pushesAccepted == 0 { found.append("no push reached a phone") }
        if self.eventsLost != 0 { found.append("\(self.eventsLost) events have no outcome") }
        if self.devicesChecked == 0 { found.append("no device was checked") }
        if self.devicesEquivalent != self.devicesChecked {
            found.append(
                "\(self.devicesChecked - self.devicesEquivalent) of \(self.devicesChecked) devices show something else")
        }
        if self.budgetViolations != 0 { found.append("\(self.budgetViolations) devices got more than their budget") }
        if self.channels != 0, self.broadcasts == 0 { found.append("no broadcast was taken") }
        if self.channels != 0, self.listenersChecked == 0 { found.append("no phone listened to a channel") }
        if self.listenersEquivalent != self.listenersChecked {
            found.append(
                "\(self.listenersChecked - self.listenersEquivalent) of \(self.listenersChecked) phones that listen show something else"
            )
        }
        if self.audiences != 0, self.memberPushes == 0 { found.append("no member of an audience was pushed to") }
        if self.audiences != 0, self.membersChecked == 0 { found.append("no member of an audience was checked") }
        if self.membersEquivalent != self.membersChecked {
            found.append(
                "\(self.membersChecked - self.membersEquivalent) of \(self.membersChecked) members of audiences show something else"
            )
        }
        if self.memberPushesTooSoon != 0 {
            found.append("\(self.memberPushesTooSoon) pushes came to members too soon after another")
        }
        if self.startOrders != 0, self.startersStarted == 0 { found.append("no start member was started") }
        if self.startSecondCards != 0 {
            found.append("\(self.startSecondCards) phones have a second card of one start")
        }
        if self.startersAccounted != self.startersChecked {
            found.append(
                "\(self.startersChecked - self.startersAccounted) of \(self.startersChecked) start members have no card, and nothing says why"
            )
        }
        return found
    }

    /// Writes the summary as JSON. Throws a `CommandFailure` with the path and what the file system says.
    package func write(to path: String) throws { try SummaryFile.write(self, to: path) }

    /// The summary as lines for a reader.
    package var lines: [String] {
        let faults = self.faults.filter { $0.value > 0 }.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
        let grouped = NumberText.grouped
        return [
            "faults injected     \(grouped(self.faults.values.reduce(0, +))): \(faults.joined(separator: ", "))",
            "events              \(grouped(self.events))",
            "pushes accepted     \(grouped(self.pushesAccepted))",
            "duplicates          \(grouped(self.duplicatePushes)) pushes, among them \(grouped(self.duplicateAlerts)) alerts, "
                + "\(grouped(self.duplicateStarts)) starts",
            "lost                \(grouped(self.eventsLost))",
            "devices             \(grouped(self.devicesEquivalent)) of \(grouped(self.devicesChecked)) show exactly what they should",
            "budget violations   \(grouped(self.budgetViolations))",
            "channels            \(grouped(self.channels)), \(grouped(self.broadcasts)) broadcasts; "
                + "\(grouped(self.listenersEquivalent)) of \(grouped(self.listenersChecked)) phones that listen show what is promised",
            "members             \(grouped(self.membersEquivalent)) of \(grouped(self.membersChecked)) show exactly what they should; "
                + "\(grouped(self.audiences)) audiences, \(grouped(self.memberPushes)) pushes",
            "start members       \(grouped(self.startersAccounted)) of \(grouped(self.startersChecked)) have one card or a reason for none; "
                + "\(grouped(self.startOrders)) starts, \(grouped(self.startCards)) cards, \(grouped(self.startSecondCards)) second ones",
        ]
    }
}
