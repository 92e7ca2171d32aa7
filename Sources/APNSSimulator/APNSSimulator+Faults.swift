/// Faults as the control API takes them, for callers in the same process.
extension APNSSimulator {
    /// Why what was asked for is no fault.
    public struct FaultRefusal: Error, Equatable, Sendable {
        /// Names the field and what was expected.
        public var text: String
    }

    /// What a fault that was asked for came to.
    public enum FaultAnswer: Equatable, Sendable {
        /// It is in the list, with this id.
        case added(FaultID)
        /// It was done to this number of connections.
        case done(connections: Int)
        /// It holds until it is cleared.
        case set
    }

    /// What is wrong besides the list of faults.
    public struct Trouble: Equatable, Sendable {
        /// How long answers wait.
        public var latency: Latency
        /// New connections are closed at once.
        public var refusesConnections: Bool
        /// New connections are taken and not served.
        public var isMute: Bool
        /// How old lists of channels are.
        public var listLagMillis: Int64 = 0
        /// SETTINGS_MAX_CONCURRENT_STREAMS, where it is another than configured; `nil`: it is not.
        public var streamsMax: UInt32?
    }

    /// Does what the JSON asks for, which is that of `POST /faults` of the control API. Returns once it is done.
    public func takeFault(_ document: [UInt8]) async throws(FaultRefusal) -> FaultAnswer {
        let asked: FaultDocument
        do {
            asked = try FaultDocument.read(document)
        } catch {
            throw FaultRefusal(text: error.text)
        }
        switch asked {
        case .fault(let fault): return .added(self.add(fault))
        case .latency(let latency): self.setLatency(latency)
        case .listLag(let millis): self.setListLag(millis: millis)
        case .refuse(let on): self.setRefusesConnections(on)
        case .mute(let on): self.setMute(on)
        case .streams(let streams): self.setConcurrentStreamsMax(streams)
        case .action(let action, let connection):
            return .done(connections: await self.performAndWait(action, connection: connection))
        }
        return .set
    }

    /// What is wrong besides the list of faults.
    public var trouble: Trouble {
        let configured = self.configuredStreamsMax
        return self.shared.withState {
            Trouble(
                latency: $0.latency, refusesConnections: $0.refusesConnections, isMute: $0.isMute,
                listLagMillis: $0.listLagMillis,
                streamsMax: $0.concurrentStreamsMax == configured ? nil : $0.concurrentStreamsMax)
        }
    }
}
