import APNSProtocol
import ChannelKeeping
import PushModel

extension ListAnswer {
    init(_ result: PushAnswer.Result) {
        switch result {
        case .channel(let answer) where !answer.isCut:
            if let ids = try? ChannelBody.channelIDs(answer.body.span) {
                self = .listed(ids)
            } else {
                self = .failed
            }
        case .response(let response): self = .refused(status: response.status, reason: response.reason)
        case .channel, .accepted, .notProcessed, .unknown: self = .failed
        }
    }
}

extension CreateAnswer {
    init(_ result: PushAnswer.Result) {
        switch result {
        case .channel(let answer): self = answer.channelID.isEmpty ? .lost : .created(id: answer.channelID)
        case .response(let response): self = .refused(status: response.status, reason: response.reason)
        case .notProcessed: self = .notSent
        case .accepted, .unknown: self = .lost
        }
    }
}

extension DeleteAnswer {
    init(_ result: PushAnswer.Result) {
        switch result {
        case .channel: self = .deleted
        case .response(let response): self = .refused(status: response.status, reason: response.reason)
        case .accepted, .notProcessed, .unknown: self = .failed
        }
    }
}

extension BeaconAnswer {
    /// Creates the answer. A request that APNs refuses for good counts as sent, because it must not be tried again.
    init(_ result: PushAnswer.Result) {
        switch result {
        case .accepted, .channel: self = .sent
        case .response(let response):
            switch response.verdict.consequence.push {
            case .accepted, .refused: self = .sent
            case .tokenDead: self = .channelGone
            case .goesAgain, .waitsForRoute, .waitsForToken: self = .failed
            }
        case .notProcessed, .unknown: self = .failed
        }
    }
}
