import APNSProtocol

extension ChannelFailure {
    /// The kind of a failure, for programs. The list is complete: the status decides the kind of an unknown reason.
    public enum Kind: String, Sendable, CaseIterable {
        /// The app or the environment is not in the configuration.
        case notConfigured = "not-configured"
        /// There is no such channel.
        case channelNotFound = "channel-not-found"
        /// The given id does not have the form of a channel's id.
        case channelInvalid = "channel-invalid"
        /// Broadcasts are not enabled for the app.
        case featureNotEnabled = "feature-not-enabled"
        /// The app has as many channels as Apple allows.
        case limitReached = "limit-reached"
        /// The key, the team, the topic or this machine's clock is wrong. The operator must act.
        case credentialsRefused = "credentials-refused"
        /// APNs got too many requests.
        case throttled
        /// APNs cannot serve now.
        case serverBusy = "server-busy"
        /// APNs cannot be reached.
        case unreachable
        /// It is unknown whether a channel was made.
        case mayExist = "may-exist"
        /// No answer arrived.
        case unanswered
        /// The answer cannot be read.
        case unreadable
        /// APNs refused for a reason that has no kind of its own.
        case refused
        /// This process already has too many requests about channels without an answer.
        case overloaded
        /// This process is ending.
        case closed
    }

    /// The kind of the failure.
    public var kind: Kind {
        switch self.cause {
        case .notConfigured: .notConfigured
        case .invalidChannel: .channelInvalid
        case .limitReached: .limitReached
        case .creationUnanswered: .mayExist
        case .unanswered: .unanswered
        case .notSent: .unreachable
        case .unreadable: self.action == .create ? .mayExist : .unreadable
        case .overloaded: .overloaded
        case .closed: .closed
        case .refused(let status, let reason): self.kind(status, reason)
        }
    }

    private func kind(_ status: UInt16, _ reason: String) -> Kind {
        switch reason {
        case "FeatureNotEnabled": return .featureNotEnabled
        case "ChannelNotRegistered": return .channelNotFound
        case "BadChannelId", "MissingChannelId": return .channelInvalid
        default: break
        }
        switch ReasonTable.verdict(status: status, reason: reason, timestampMillis: nil) {
        case .credentialRefused, .topicRefused, .providerTokenExpired, .providerTokenTooManyUpdates:
            return .credentialsRefused
        case .tokenThrottled: return .throttled
        case .serverBusy, .connectionUnusable:
            // After a server error other than 503, the channel may have been made.
            return self.action == .create && status != 503 && status >= 500 ? .mayExist : .serverBusy
        case .accepted, .tokenDead, .expirationRefused, .messageRefused: return .refused
        }
    }

    /// What to do, as a sentence without a full stop.
    public var remedy: String {
        let look = "'mailboat channels list' shows all channels; delete useless ones"
        switch self.kind {
        case .notConfigured: return "add it to apps, or the environment to apns.environments"
        case .channelNotFound:
            return "it was deleted, or belongs to another app or environment, as ids are not shared between them"
        case .channelInvalid: return "give the id as APNs made it, in base64"
        case .featureNotEnabled:
            return
                "switch broadcasts on in Apple's developer portal: Certificates, Identifiers & Profiles, Identifiers,"
                + " the App ID \(self.home.bundleID), Push Notifications, Broadcast Capability. Leave it on:"
                + " switching it off deletes every channel"
        case .limitReached: return look
        case .credentialsRefused: return self.credentialsRemedy
        case .throttled: return "wait a minute and try again; create channels ahead of time, a few at a time"
        case .serverBusy, .unanswered: return "try again in a few minutes"
        case .unreachable:
            return
                "check the manage-host and manage-port of the environment, and that this machine may connect to them;"
                + " 'mailboat doctor --config FILE' tries it step by step"
        case .mayExist: return "compare before trying again: \(look)"
        case .unreadable: return "check that the manage-host of the environment is Apple's"
        case .refused: return "this should not happen: please report it with the reason"
        case .overloaded: return "try again in a moment"
        case .closed: return "start it again"
        }
    }

    private var credentialsRemedy: String {
        guard case .refused(_, let reason) = self.cause else { return "check the key" }
        return switch reason {
        case "TopicMismatch":
            "the key does not cover this app: use a key of the app's team, without a list of other apps"
        case "TopicDisallowed": "the bundle id must be the app's own, without a suffix such as .push-type.liveactivity"
        case "ExpiredProviderToken": "check this machine's clock"
        case "TooManyProviderTokenUpdates": "is the key used elsewhere, too? Wait 20 minutes"
        default: "check apns.key-file, apns.key-id and apns.team-id, and that the key is valid for this environment"
        }
    }
}
