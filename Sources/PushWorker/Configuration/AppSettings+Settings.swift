import PushEngine

extension AppSettings: SettingsRoot {
    static let standard = AppSettings(bundleID: "")

    /// Settings of an app. Each may be given at the top level, for all apps, and below `apps.<bundle id>`, for one.
    static let settings: [SettingRow<AppSettings>] = Self.identitySettings + Self.endpointSettings + Self.pacingSettings

    private static let identitySettings: [SettingRow<AppSettings>] = [
        .text(
            "apns.team-id", effect: .newConnections, scope: .app, isRequired: true,
            expected: "the 10 letters and digits of the developer team",
            \.teamID,
            "The team the key belongs to."
        ) { SettingChecks.isAppleIdentifier($0) },
        .optionalText(
            "apns.key-id", effect: .newConnections, scope: .app,
            expected: "the 10 letters and digits of the key's id from Apple", \.keyID,
            "The id of the APNs authentication key. Not needed if the file is named `AuthKey_ABC123DEFG.p8`, as Apple names it. With a directory: the key to begin with; by default the newest."
        ) { SettingChecks.isAppleIdentifier($0) },
        .text(
            "apns.key-file", effect: .newConnections, scope: .app, isRequired: true,
            expected: "the path of the key's .p8 file, or of a directory of such files", kind: .path,
            \.keyFile,
            "Read at start and again whenever it changes; not needed with `apns.key`. A directory may hold several keys of the team, each named `AuthKey_ABC123DEFG.p8`: see [Changing the key](#changing-the-key)."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "apns.key", effect: .restart, scope: .app,
            expected: "the text of a .p8 file, with its line breaks or with \\n in their place", kind: .secret,
            \.key,
            "The key itself instead of a file. Only accepted in the environment variable `MAILBOAT_APNS_KEY`; needs `apns.key-id`. A file is better where possible: it is read again when it changes."
        ) { SettingChecks.isKeyText($0) },
        .choices(
            "apns.environments", effect: .restart, scope: .app, \.environments,
            "The APNs environments the app's tokens may belong to."),
    ]

    private static let endpointSettings: [SettingRow<AppSettings>] = [
        .text(
            "apns.production.host", effect: .restart, scope: .app,
            expected: "a host name or an IP address", \.production.host,
            "The APNs host for production."
        ) { SettingChecks.isHost($0) },
        .number(
            "apns.production.port", effect: .restart, scope: .app, in: 1...65_535, unit: "TCP port", \.production.port,
            "443, or 2197, which Apple offers too."),
        .optionalText(
            "apns.production.ca-file", effect: .restart, scope: .app,
            expected: "the path of a file of PEM certificates", kind: .path,
            \.production.caFile,
            "Certificate authorities trusted instead of the system's; for simulators."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "apns.production.broadcast-host", effect: .restart, scope: .app, expected: "a host name or an IP address",
            \.production.broadcastHost,
            "The host for broadcasts to channels, on the same port. By default the host for pushes."
        ) { SettingChecks.isHost($0) },
        .text(
            "apns.production.manage-host", effect: .restart, scope: .app, expected: "a host name or an IP address",
            \.production.manageHost, "The host for making, reading, listing and deleting channels."
        ) { SettingChecks.isHost($0) },
        .number(
            "apns.production.manage-port", effect: .restart, scope: .app, in: 1...65_535, unit: "TCP port",
            \.production.managePort,
            "2196: Apple has no other."),
        .text(
            "apns.development.host", effect: .restart, scope: .app,
            expected: "a host name or an IP address",
            \.development.host, "The APNs host for development."
        ) { SettingChecks.isHost($0) },
        .number(
            "apns.development.port", effect: .restart, scope: .app, in: 1...65_535, unit: "TCP port",
            \.development.port,
            "443, or 2197, which Apple offers too."),
        .optionalText(
            "apns.development.ca-file", effect: .restart, scope: .app,
            expected: "the path of a file of PEM certificates", kind: .path,
            \.development.caFile,
            "Certificate authorities trusted instead of the system's; for simulators."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "apns.development.broadcast-host", effect: .restart, scope: .app, expected: "a host name or an IP address",
            \.development.broadcastHost,
            "The host for broadcasts to channels, on the same port. By default the host for pushes."
        ) { SettingChecks.isHost($0) },
        .text(
            "apns.development.manage-host", effect: .restart, scope: .app, expected: "a host name or an IP address",
            \.development.manageHost, "The host for making, reading, listing and deleting channels."
        ) { SettingChecks.isHost($0) },
        .number(
            "apns.development.manage-port", effect: .restart, scope: .app, in: 1...65_535, unit: "TCP port",
            \.development.managePort,
            "2195: Apple has no other."),
    ]

    private static let pacingSettings: [SettingRow<AppSettings>] = [
        .duration(
            "coalescing.low-priority-window", effect: .live, scope: .app, in: 0...3_600_000,
            \.engine.lowPriorityWindowMillis,
            "How long a low-priority update waits for newer ones, from the first unsent event."),
        .duration(
            "coalescing.minimum-distance", effect: .live, scope: .app, in: 1_000...3_600_000,
            \.engine.minimumDistanceMillis,
            "The least time between two pushes of an activity."),
        .number(
            "budget.per-hour", effect: .live, scope: .app, in: 1...3_600, unit: "high-priority pushes per activity",
            \.engine.budgetPerHour,
            "High-priority pushes that an activity gets at most in any rolling hour."),
        .number(
            "budget.frequent-per-hour", effect: .live, scope: .app, in: 1...3_600,
            unit: "high-priority pushes per activity",
            \.engine.budgetFrequentPerHour, "The same for a registration with `frequent-updates: true`."),
        .number(
            "budget.reserve", effect: .live, scope: .app, in: 0...3_599, unit: "high-priority pushes per activity",
            \.engine.budgetReserve,
            "The part of the budget that is kept for pushes with an alert and for `end`. Less than `budget.per-hour`."),
        .number(
            "budget.audience-per-hour", effect: .live, scope: .app, in: 1...3_600,
            unit: "high-priority versions per audience",
            \.engine.budgetAudiencePerHour,
            "Versions of an audience that are sent at priority 10 at most in any rolling hour, to members without `frequent-updates`."
        ),
        .number(
            "budget.audience-frequent-per-hour", effect: .live, scope: .app, in: 1...3_600,
            unit: "high-priority versions per audience",
            \.engine.budgetAudienceFrequentPerHour, "The same for members with `frequent-updates: true`."),
        .choice(
            "budget.policy", effect: .live, scope: .app, \.engine.budgetPolicy,
            "What happens over budget: `downgrade` sends at once with priority 5, `defer` keeps the update until budget returns."
        ),
        .duration(
            "channel.minimum-distance", effect: .live, scope: .app, in: 1_000...3_600_000,
            \.engine.channelMinimumDistanceMillis,
            "The least time between two broadcasts on a channel. Apple publishes no number; others were throttled above four a minute. Doubled when APNs throttles the channel, and then reduced step by step."
        ),
        .number(
            "channel.budget-per-hour", effect: .live, scope: .app, in: 0...3_600,
            unit: "high-priority broadcasts per channel",
            \.engine.channelBudgetPerHour,
            "High-priority broadcasts that a channel gets at most in any rolling hour; 0: no limit."),
        .choice(
            "channel.storage", effect: .restart, scope: .app, \.engine.channelStorage,
            "What the app's channels keep for phones that are off. `ask`: APNs is asked once for each channel, on `apns.*.manage-host`. `none`, `most-recent`: all channels were made with this policy."
        ),
        .choice(
            "audience.channel", effect: .restart, scope: .app, \.engine.audienceChannel,
            "`auto`: each audience gets a broadcast channel with its first event or with `open`; phones with iOS 18 can listen on it. `none`: all phones of an audience are reached by their tokens."
        ),
        .choice(
            "audience.channel-storage", effect: .restart, scope: .app, \.engine.audienceChannelStorage,
            "What channels opened for audiences keep for phones that are off: `none`, or the `most-recent` message. APNs allows fewer broadcasts with `most-recent`."
        ),
        .duration(
            "channel.fallback", effect: .live, scope: .app, in: 1_000...3_600_000, \.engine.channelFallbackMillis,
            "When APNs has not taken a broadcast for this long, members that listen on an audience's channel are served by their tokens."
        ),
        .duration(
            "channel.linger", effect: .restart, scope: .app, in: 1_000...604_800_000, \.engine.channelLingerMillis,
            "How long an audience's channel stays after the audience's `end`; then it is deleted. Meanwhile the `end` is broadcast again if the channel keeps nothing."
        ),
        .flag(
            "channels.exclusive", effect: .restart, scope: .app, \.engine.channelsExclusive,
            "Whether nobody else creates channels in this app. Then a channel that is new after a creation without an answer counts as this worker's own. Otherwise it is shown and left alone."
        ),
        .number(
            "channels.warm", effect: .restart, scope: .app, in: 0...1_000, unit: "channels per environment",
            \.engine.channelsWarm,
            "Channels that are made before an audience asks for one, where `audience.channel` is `auto`."),
        .choice(
            "alert.on-unknown", effect: .live, scope: .app, \.engine.alertOnUnknown,
            "Whether an alert is sent again when nobody knows whether the push arrived."),
        .choice(
            "start.on-unknown", effect: .live, scope: .app, \.engine.startOnUnknown,
            "Whether a `start` is sent again when nobody knows whether it arrived; a second card may appear."),
        .flag(
            "updates.stale-date-expires", effect: .live, scope: .app, \.engine.staleDateExpires,
            "An update without `expires` that was not sent before its `stale-date` is `expired`. Updates that wait already keep the rule that held when they were taken."
        ),
        .number(
            "start.per-hour", effect: .live, scope: .app, in: 1...AppConfiguration.startsPerHourMax,
            unit: "starts per push-to-start token", \.engine.startsPerHour,
            "Starts of audiences that a push-to-start token gets at most in any rolling hour. Apple publishes no number; others saw about ten in a short time."
        ),
        .duration(
            "start-member.life", effect: .live, scope: .app, in: 86_400_000...31_536_000_000,
            \.engine.startMemberLifeMillis,
            "How long a start member stays if it does not join again."),
        .duration(
            "audience.spread", effect: .live, scope: .app, in: 0...600_000, \.engine.audienceSpreadMillis,
            "A start of an audience is spread over this time, but at most over half the time to its `expires`. Otherwise all its phones would return with update tokens at once."
        ),
        .duration(
            "registration-wait", effect: .live, scope: .app, in: 0...43_200_000, \.engine.registrationWaitMillis,
            "How long an update waits for a usable token."),
        .duration(
            "retention", effect: .live, scope: .app, in: 0...2_592_000_000, \.engine.retentionAfterEndMillis,
            "How long an ended activity is remembered."),
        .fraction(
            "limits.pending-share", effect: .live, scope: .app, in: 0.01...1, unit: "of limits.pending",
            \.engine.pendingShare,
            "The share of pending activities that one app may take. Beyond it, logs whose last event was for that app are not read further."
        ),
    ]
}
