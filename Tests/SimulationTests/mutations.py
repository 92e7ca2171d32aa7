#!/usr/bin/env python3
"""Breaks one promise after the other and asks the simulation whether it notices: `make mutations`.

Each mutation is a small patch to a copy of the tree. One build of the copy holds them all, and a variable of the environment chooses which one is played (`weaving.py`); one that cannot be
woven in has a build of its own. Seeds are played until one fails; where a promise concerns audiences, worlds that all have some. Some are met too seldom for that: the tests named beside them are run
then. Exit status 1 when one of them survives its seeds and tests, when the unbroken code fails, or when a patch does not fit the source any more; 2 for a wrong call.
The copy lies in `.build-mutations/tree`, its build beside it. Nothing else is written: the working tree stays as it is, whatever happens.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import subprocess
import sys
import time

sys.dont_write_bytecode = True
import weaving

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRATCH = ROOT / ".build-mutations"
TREE = SCRATCH / "tree"
BUILD = SCRATCH / "build"
# A run takes about 20 ms, one with audiences 150 ms; one that takes this long does not end.
SECONDS_MAX = 1_200
# The pure targets alone: they need no package but one.
ENVIRONMENT = os.environ | {"MAILBOAT_CORE": "1", "SWIFT_DETERMINISTIC_HASHING": "1"}
# Played first.
UNBROKEN = 0


@dataclasses.dataclass(frozen=True)
class Mutation:
    """One promise broken. `old` must stand exactly once in `file`; `new` takes its place. `test`: who notices what no seed does.
    `audiences`: it is played in worlds that have some. `kept`: in such worlds that keep channels for them. `moves`: in worlds that move to another
    cluster."""

    name: str
    what: str
    file: str
    old: str
    new: str
    test: str | None = None
    audiences: bool = False
    kept: bool = False
    moves: bool = False

    @property
    def worlds(self):
        """What is said of the worlds that it is played in, after `simulate`."""
        return (
            "--audiences", "100" if self.audiences or self.kept else "0", "--channels-kept", "100" if self.kept else "0",
            "--moves", "100" if self.moves else "0")

    def seeds(self, asked):
        return asked.kept_seeds if self.kept else asked.audience_seeds if self.audiences else asked.seeds

    def passed_over(self, asked):
        """Seeds that the unbroken code fails in such worlds."""
        named = asked.pass_over_kept if self.kept else asked.pass_over if self.audiences else ""
        return {int(seed) for seed in named.split(",") if seed}


def engine(path):
    return f"Sources/PushEngine/{path}.swift"


def loop(path):
    return f"Sources/ShardLoop/{path}.swift"


def keeping(path):
    return f"Sources/ChannelKeeping/{path}.swift"


MUTATIONS = [
    Mutation(
        "commit-early", "`OffsetLedger.watermark` is always the next offset", engine("Journal/OffsetLedger"),
        "return head.isNone ? self.logs[log].nextOffset : self.entries[head].offset",
        "_ = head\n        return self.logs[log].nextOffset"),
    Mutation(
        "untimed-by-clock", "an event without a time is as new as the clock when it is read", engine("Intake/Intake"),
        "        return memory.newestSeconds(of: slot)\n", "        return self.timestampSeconds(now: now)\n"),
    Mutation(
        "record-time-believed", "each record time is believed", "Sources/PushModel/Event/RecordTime.swift",
        "        millis >= Self.earliestSeconds &* 1_000\n", "        millis >= 0 || millis >= Self.earliestSeconds &* 1_000\n"),
    Mutation(
        "untimed-is-new", "a forwarded record without a time has not been forwarded before", engine("Intake/Intake"),
        "{ self.isTimed ? self.writtenMillis : .min }", "{ self.writtenMillis }", test="RecordTimeTests"),
    Mutation(
        "stale-expires", "a stale date expires an update", engine("Intake/Intake"),
        "        case .update: self.event.expiresSeconds ?? .max\n",
        "        case .update: self.event.expiresSeconds ?? self.event.staleDateSeconds ?? .max\n"),
    Mutation(
        "start-stale", "a start that is stale is sent", engine("Coalescing/Update"),
        "first = min(first, start.expiresSeconds, self.staleSeconds)", "first = min(first, start.expiresSeconds)"),
    Mutation(
        "no-changelog", "`writeState` settles the entry and writes nothing", engine("Journal/Journal+State"),
        """        self.batch.append(
            .state, partition: memory.partitions[partition].number, key: keyRange, value: valueRange, headers: headers,
            hasNoValue: isTombstone,
            acknowledgement: acknowledgement)
""",
        """        _ = (keyRange, valueRange, headers)
        _ = self.acknowledged(acknowledgement, offset: -1, in: &memory, now: now)
"""),
    Mutation(
        "no-restore", "`restoreSlot` ignores every record", engine("Partitions/ShardEngine+Restore"),
        "        guard self.core.memory.isBelieved(read.epoch, partition: partition) else { return nil }\n",
        "        guard read.epoch == .min else { return .ignored }\n"),
    Mutation(
        "no-lease", "a shard acts whether the group has confirmed its partitions or not", loop("ShardLoop"),
        "        let isHeld = self.partitions.isEmpty || now.steadyMillis < self.log.leaseEndsMillis\n",
        "        let isHeld = self.partitions.isEmpty || self.log.leaseEndsMillis != 0\n"),
    Mutation(
        "lease-from-answer", "a lease is counted longer than the session lasts", loop("Ownership/OwnershipLease"),
        "self.durationMillis = sessionTimeoutMillis / 10 * 9", "self.durationMillis = sessionTimeoutMillis / 10 * 14"),
    Mutation(
        "commit-before-state", "a state record that Kafka did not take counts as written", loop("Outbox/Outbox"),
        "        if record.topic.isOrdered, !engine.isAwaited(record.acknowledgement) {\n",
        "        if record.topic == .state || (record.topic.isOrdered && !engine.isAwaited(record.acknowledgement)) {\n"),
    Mutation(
        "restore-ends-early", "a restore ends before the record in front of the own marker",
        loop("ShardLoop+Restore"), "partition: number, offsets: 0..<markerOffset + 1)",
        "partition: number, offsets: 0..<max(1, markerOffset - 1))"),
    Mutation(
        "forgotten-written", "what waits of a partition that is another's goes out all the same",
        loop("ShardLoop+Commands"),
        "            self.outbox.forget(partition: number, in: &self.engine, now: now)\n", "            _ = now\n",
        test="OutboxTests"),
    Mutation(
        "failed-overtaken", "records do not wait for one of their partition that failed", loop("Outbox/Outbox"),
        "        guard !self.retries.isEmpty else { return false }\n",
        "        guard self.retries.count < 0 else { return false }\n", test="OutboxTests"),
    Mutation(
        "client-unclaimed", "another Kafka client writes without a marker of its own", loop("Outbox/Outbox+Renewal"),
        "        self.retries.endEpochs(engine.claimAgain(now: now))\n", "        _ = engine.claim(of: 0)\n", test="RenewalTests"),
    Mutation(
        "pace-never", "records that nobody waits for are handed over when there are thousands, and not before",
        loop("Outbox/OutboxPace"),
        "        let handsOver = isUrgent || count >= self.recordCountMax || since + self.holdMillis <= nowMillis\n",
        "        let handsOver = isUrgent || count >= self.recordCountMax\n"),
    Mutation(
        "pace-for-ever", "records that were forgotten are due for ever", loop("Outbox/OutboxPace"),
        "            self.waitingSinceMillis = nil\n            return false\n", "            return false\n", test="PartitionLifeTests"),
    Mutation(
        "unread-handed-over", "who leaves before reading what an owner before may have pushed hands it over as done",
        engine("Journal/Journal+State"),
        "        return !memory.partitions[partition].former.mayHavePushedUnrecorded || !self.isBehind(partition, in: memory)\n",
        "        return true\n", test="TakeoverTests"),
    Mutation(
        "release-believed", "a release counts although a later owner has been at work",
        engine("Partitions/FormerOwners"),
        "        self.newestEpochRead = epoch\n        self.hasReleased = false\n",
        "        self.newestEpochRead = epoch\n", test="FormerOwnersTests"),
    Mutation(
        "release-early", "a partition is said to be released before Kafka has its other records",
        engine("Partitions/ShardEngine+Actions"),
        "                guard self.core.journal.isSettled(partition, in: self.core.memory) else { continue }\n                if self",
        "                if self", test="ReleaseTests"),
    Mutation(
        "older-behind", "what is older than a push that failed stays behind it", engine("Coalescing/Coalescer+Requeue"),
        "            memory.updates[behind].top.timestampSeconds < memory.updates[failed].top.timestampSeconds\n",
        "            memory.updates[behind].top.timestampSeconds < .min\n", test="CoalescingTests"),
    Mutation(
        "no-unit-after-crash", "`countUnrecordedPush` takes no unit", engine("Dispatch/Dispatch+Budget"),
        "        guard !memory.slots[slot].countedUnrecordedPush, memory.couldHaveUnrecordedPush(slot),\n",
        "        guard memory.slots.count < 0, memory.couldHaveUnrecordedPush(slot),\n"),
    Mutation(
        "older-epoch-state", "a restore believes a state record of an older epoch behind one of a newer",
        engine("Partitions/ShardEngine+Restore"),
        "        guard self.core.memory.isBelieved(read.epoch, partition: partition) else { return nil }\n",
        "        _ = self.core.memory.isBelieved(read.epoch, partition: partition)\n"),
    Mutation(
        "older-epoch-tombstone", "a restore believes a tombstone of an older epoch behind a record of a newer",
        engine("Partitions/ShardEngine+Restore"),
        """                guard self.core.memory.isBelieved(epoch, partition: partition) else {
                    return self.outdated(key, of: partition)
                }
""", "                _ = self.core.memory.isBelieved(epoch, partition: partition)\n"),
    Mutation(
        "verdict-on-new-token", "a verdict about a token that was replaced is taken for one about the new token",
        engine("Engine/ShardEngine+Answer"),
        "        guard self.core.memory.updates[update].tokenGeneration == self.core.memory.slots[slot].tokenGeneration else {\n",
        "        guard self.core.memory.updates[update].tokenGeneration <= .max else {\n"),
    Mutation(
        "state-before-outcome", "`flushStates` writes a slot whose outcomes are not acknowledged",
        engine("Journal/Journal+State"),
        """            guard memory.slots[slot].isLive, memory.slots[slot].isDirty,
                memory.slots[slot].unguardedRecords == 0
            else { continue }
""",
        "            guard memory.slots[slot].isLive, memory.slots[slot].isDirty else { continue }\n"),
    Mutation(
        "alert-replaced", "an update without an alert that takes the short way drops the alert it replaces",
        engine("Coalescing/Coalescer+Replace"),
        "            hasAlert == !memory.updates[update].top.alert.isEmpty\n",
        "            !hasAlert || !memory.updates[update].top.alert.isEmpty\n"),
    Mutation(
        "alert-folded", "the same on the short way of `fold`", engine("Coalescing/Coalescer+Fold"),
        "        let carriesAlert = self.scratchLayer.alert.isEmpty && !memory.updates[update].top.alert.isEmpty\n",
        "        let carriesAlert = false\n"),
    Mutation(
        "alert-not-inherited", "the same on the long way: `Layer.inherit` takes no alert over",
        engine("Coalescing/Layer"),
        "        if self.alert.isEmpty, !older.alert.isEmpty {\n            self.alert = self.append(",
        "        if self.alert.isEmpty, older.alert.count > 1_000_000 {\n            self.alert = self.append("),
    Mutation(
        "withdrawal-ignored", "an alert that is withdrawn waits on", engine("Engine/ShardEngine+Events"),
        "        if self.core.intake.event.withdrawsAlert { self.core.coalescer.withdrawAlerts(of: slot, in: &self.core.memory) }\n", "",
        test="WithdrawalTests"),
    Mutation(
        "withdrawal-not-in-flight", "an alert that is withdrawn sounds when its push is sent again",
        engine("Coalescing/Coalescer+Withdraw"),
        "        for update in [memory.slots[slot].inFlight, pending, behind] where update.isSome {\n",
        "        for update in [pending, behind] where update.isSome {\n", test="WithdrawalTests"),
    Mutation(
        "push-before-state", "a push leaves before the state record of the one before is acknowledged",
        engine("Dispatch/Dispatch"),
        "guard update.isSome, memory.slots[slot].inFlight.isNone, !memory.slots[slot].awaitsStateRecord,",
        "guard update.isSome, memory.slots[slot].inFlight.isNone,"),
    Mutation(
        "same-stamp", "a push may get the stamp of the one before", engine("Engine/ShardMemory+Stamps"),
        "self.updates[update].top.stampFloorSeconds, self.slots[slot].lastStampSeconds + 1)",
        "self.updates[update].top.stampFloorSeconds, self.slots[slot].lastStampSeconds)"),
    Mutation(
        "stamp-of-unrecorded", "a replay is not stamped past what may have gone unrecorded",
        engine("Engine/ShardMemory+Stamps"),
        "        guard self.updates[update].stampSeconds == nil else { return }\n        if self.updates[update].containsReplay {\n",
        "        guard self.updates[update].stampSeconds == nil else { return }\n"
        "        if self.updates[update].containsReplay, self.slots.count < 0 {\n"),
    Mutation(
        "replay-taken-again", "an event that `state` covers is taken as a new one", engine("Intake/Intake"),
        "        return applied.isOf(topic: self.record.topic) && self.record.offset <= applied.offset\n",
        "        return applied.isOf(topic: self.record.topic) && self.record.offset < 0\n"),
    Mutation(
        "older-not-kept", "an older event that outlives the newest one is not kept beneath it",
        engine("Coalescing/Coalescer+Fold"),
        "        guard outlives, memory.updates[update].under.count < Update.underMax else {\n",
        "        guard outlives, memory.updates[update].under.count < 0 else {\n"),
    Mutation(
        "budget-not-restored", "a restore takes no units over", engine("Partitions/ShardEngine+Restore"),
        "        for age in self.restoredAges {\n", "        for age in self.restoredAges where age == .min {\n"),
    Mutation(
        "stale-verdict", "a 410 that is older than the registration kills the token", engine("Engine/ShardEngine+Answer"),
        "if let invalidSinceMillis, invalidSinceMillis < self.core.memory.slots[slot].registeredWallMillis,",
        "if let invalidSinceMillis, invalidSinceMillis == self.core.memory.slots[slot].registeredWallMillis,"),
    Mutation(
        "former-forgotten", "a newest token that is dead on arrival is the last word, although the one before lives",
        engine("Engine/ShardMemory+FormerTokens"),
        "        guard let former = self.formerTokens[slot], former.role == .former else { return false }\n        switch",
        "        guard let former = self.formerTokens[slot], former.role != .former else { return false }\n        switch"),
    Mutation(
        "newest-lost", "a newest token whose refusal was not certain is lost when the one before is tried",
        engine("Engine/ShardMemory+FormerTokens"),
        "            self.formerTokens.keep(self.otherToken(of: slot, as: .newest(isDoubted: false)), of: slot)\n",
        "            self.formerTokens.forget(slot)\n"),
    Mutation(
        "newest-unstated", "a newest token that is set aside while the one before is tried does not stand in state",
        engine("Journal/Journal+State"),
        "        let newest = memory.formerTokens.newest(of: slot)\n",
        "        let newest = memory.formerTokens.newest(of: slot).flatMap { _ in nil as FormerToken? }\n", test="FormerTokenTests",
        audiences=True),
    Mutation(
        "release-forgets", "what waits is not written down when a partition is given back",
        engine("Partitions/ShardEngine+Partitions"),
        "            if self.core.memory.slots[slot].hasWork || self.core.memory.slots[slot].isOpen\n                || self.core.memory.slots[slot].isDirty\n",
        "            if self.core.memory.slots[slot].isOpen, self.core.memory.slots[slot].isDirty\n", test="ReleaseTests"),
    Mutation(
        "other-record-same-log", "another record at the place of the one that was read is taken for the same log",
        loop("Ownership/LogIdentity"), "        return millis != sample.millis\n", "        return millis < 0\n",
        test="CommitMetadataTests"),
    Mutation(
        "shorter-log-same-log", "a log that ends before what was read of it is taken for the same one", loop("Ownership/LogIdentity"),
        "} else if sample.offset >= logEnd {", "} else if sample.offset < 0 {", test="CommitMetadataTests"),
    Mutation(
        "state-end-unasked", "a `state` that ends before what was acknowledged is taken as it is", loop("Ownership/LogIdentity"),
        "        return logEnd < stateEnd\n", "        return logEnd < 0\n", test="CommitMetadataTests"),
    Mutation(
        "state-head-unasked", "a `state` whose head is gone is taken as it is", loop("Ownership/LogIdentity"),
        "        return logStart > stateStart\n", "        return logStart < min(stateStart, 0)\n", test="CommitMetadataTests"),
    Mutation(
        "state-word-unasked", "a `state` without the word of an owner at work is taken as it is",
        engine("Partitions/StateLoss"), "        guard self.former.newestEpochRead < 0 else { return nil }\n",
        "        guard self.former.newestEpochRead < -1 else { return nil }\n", test="StateLossTests"),
    Mutation(
        "other-logs-epoch", "an epoch of a log that is gone outdates what owners of the new one write", engine("Partitions/ShardMemory+FormerOwners"),
        "        guard epoch < self.partitions[partition].readingOffset else { return true }\n", "", test="StateLossTests"),
    Mutation(
        "state-goes-back", "offsets of `state` that go back are no sign", engine("Partitions/PartitionState"),
        "            return .wentBack\n", "            return .inOrder\n", test="StateLossTests"),
    Mutation(
        "lost-state-written-on", "what is known of a partition whose `state` is lost is pushed and written on",
        loop("ShardLoop+Restore"),
        "        self.engine.forget(partition: number)\n        self.outbox.forget(partition: number, in: &self.engine, now: now)\n        _ = self.commits",
        "        _ = self.commits", test="StateLossTests"),
    Mutation(
        "retry-overtakes", "a record of `state` is tried again while others of its partition are under way",
        loop("Outbox/RetryQueue"),
        "where self.careful[lane] == nil && !underWay.isAny(lane.topic, partition: lane.partition) {",
        "where self.careful[lane] == nil {"),
    Mutation(
        "judged-in-company", "a record is refused for good for what another of its batch is", loop("Ports/ProduceVerdict"),
        "case (true, _) where !isAlone: .alone", "case (true, .other) where !isAlone: .alone", test="RefusalTests"),
    Mutation(
        "refused-for-ever", "what is refused for good is tried again for ever", loop("Ports/ProduceVerdict"),
        "case (true, _): .forGood(error)", "case (true, _): .forNow", test="RefusalTests"),
    Mutation(
        "old-time-for-good", "a record with a wrong time does not get the present one", loop("Ports/ProduceVerdict"),
        "            case (true, .invalidTimestamp) where !hasPresentTime: .withPresentTime\n", "",
        test="ProduceVerdictTests"),
    Mutation(
        "good-event-given-up", "an event that can be neither forwarded nor dead-lettered is given up",
        engine("Journal/ShardEngine+Refusals"),
        "self.core.journal.acknowledgements.element(acknowledgement)?.waiter.eventRecord == .deadLetter",
        "self.core.journal.acknowledgements.element(acknowledgement)?.waiter.eventRecord != nil", test="RefusalTests"),
    Mutation(
        "refused-committed", "what depends on a record that halts its partition is committed", loop("Outbox/Outbox+Refusals"),
        "        self.retries.stick(record, nowMillis: now.steadyMillis)\n",
        "        engine.acknowledged(record.acknowledgement, offset: -1, now: now)\n", test="RefusalTests"),
    Mutation(
        "no-give-up-limit", "any number of dead letters is given up", loop("Outbox/GiveUpLimit"),
        "guard times.count < Self.countMax else {", "guard times.count < .max else {", test="GiveUpLimitTests"),
    Mutation(
        "group-of-all", "all records of a refused batch are handed over together again", loop("Outbox/RetryQueue"),
        "let group = waiting.prefix(care.width)", "let group = waiting.prefix(max(care.width, 1_000))",
        test="RefusalTests"),
    Mutation(
        "forwards-overtake", "a forwarded event leaves while those before it may be refused", loop("Outbox/Outbox"),
        "        guard self.order.routed.contains(index) else { return false }\n",
        "        guard index < 0 else { return false }\n", test="RefusalTests"),
    Mutation(
        "limit-not-asked", "a record that is larger than its topic takes is sent all the same", loop("Outbox/Outbox"),
        "return self.batch.byteCount(of: record) > self.limits[record.topic]",
        "return self.batch.byteCount(of: record) < 0", test="RefusalTests"),
    Mutation(
        "no-key-for-compacted", "a dead letter without a key gets none", loop("Outbox/Outbox+Refusals"),
        "if error == .invalidRecord, record.key == nil,", "if error == .other, record.key == nil,",
        test="RefusalTests"),
    Mutation(
        "copy-has-old-time", "what is forwarded has the time of its record", engine("Journal/Journal+DeadLetters"),
        """            hasNoValue: !intake.record.hasValue,
            acknowledgement: self.expect(.routed""",
        """            hasNoValue: !intake.record.hasValue, timestampMillis: intake.record.timestampMillis,
            acknowledgement: self.expect(.routed""", test="PlacementTests"),
    Mutation(
        "forward-committed-early", "a record that is forwarded is committed before `routed` has it",
        engine("Journal/Journal+DeadLetters"),
        """        let entry = self.ledger.open(log: intake.log, offset: intake.record.offset, settled: true)
        self.ledger.expectAcknowledgement(entry)
        let keyRange = self.batch.append(key)
        let valueRange = self.batch.append(value)
        let firstHeader = self.batch.headers.count
        // The copy""",
        """        let entry = EntryID.none
        let keyRange = self.batch.append(key)
        let valueRange = self.batch.append(value)
        let firstHeader = self.batch.headers.count
        // The copy"""),
    Mutation(
        "inlet-ungated", "records of an added partition are forwarded when they are read", loop("ShardLoop+Records"),
        "                if self.partitions[index].life == .inlet { max = min(max, self.letInCount(index, topic)) }\n", ""),
    Mutation(
        "inlet-before-others", "an added partition is let in though those before it have not been taken up to their ends",
        loop("Partitions/InletGate"), "if let barrier = self.barriers[key], isReached == true {",
        "if let barrier = self.barriers[key], isReached != nil {"),
    Mutation(
        "inlet-later-let-in", "an added partition is let in up to where it ends by then", loop("Partitions/InletGate"),
        "                self.letIn[key] = barrier.upTo\n", "                self.letIn[key] = max(barrier.upTo, inlet.endOffset)\n",
        test="InletOrderTests"),
    Mutation(
        "inlet-told-once", "an added partition that comes back is not told again how far it is let in",
        loop("Partitions/InletGate"), "} else if inlet.committedOffset >= self.letIn[key] ?? 0 {", "} else {",
        test="InletGateTests"),
    Mutation(
        "inlet-not-halted", "an added partition with an event that nobody takes goes on", loop("ShardLoop+Actions"),
        "                self.partitions[index].life.takesRecords\n", "                self.partitions[index].life == .running\n",
        test="InletLoopTests"),
    Mutation(
        "push-before-marker", "pushes leave before the owner's marker lies in `state`",
        engine("Partitions/PartitionState"), "self.phase == .running, self.pushing == .held, self.gaps",
        "self.phase == .running, self.pushing != .open, self.gaps", test="OwnershipTests"),
    Mutation(
        "no-catch-up", "pushes leave before what lay in the log at the takeover has been read",
        engine("Partitions/PartitionState"), "!self.isUnderRepair,\n            self.catchUpEndsMillis == nil\n", "!self.isUnderRepair\n", test="CatchUpTests"),
    Mutation(
        "no-gap-watch", "a record of another in `state` is not noticed", engine("Partitions/PartitionState"),
        "        guard next >= 0, offset > next else { return .inOrder }\n",
        "        guard next >= 0, offset > next, self.epoch < 0 else { return .inOrder }\n", test="OwnershipTests"),
    Mutation(
        "silent-replay", "an event that an owner before may have sent gives way without saying so",
        engine("Coalescing/Coalescer"), "Cause = layer.mayBeSent ? .mayBeSentBefore : into == nil ?",
        "Cause = into == nil ?"),
    Mutation(
        "channel-distance", "broadcasts on a channel keep the distance of an activity's pushes", engine("Dispatch/Dispatch+Channels"),
        "return distanceMillis << doublings",
        "return 1_000 + 0 * (distanceMillis << doublings)"),
    Mutation(
        "channel-throttle", "a 429 does not stretch a channel's distance", engine("Dispatch/Dispatch+Channels"),
        "memory.slots[slot].throttleSteps + Self.throttleStep, Self.throttleStepsMax)",
        "memory.slots[slot].throttleSteps, Self.throttleStepsMax)"),
    Mutation(
        "channel-storage-forgotten", "a restart forgets what a channel keeps", engine("Dispatch/Dispatch+Channels"),
        "        memory.slots[slot].storage = storage\n        self.beginChannel(slot, isUnkept",
        "        memory.slots[slot].storage = .unknown\n        self.beginChannel(slot, isUnkept"),
    Mutation(
        "channel-storage-guessed", "a channel of which nobody knows is told to keep a message", engine("Dispatch/PushComposer"),
        "storage == .mostRecent ? min(", "storage != .none ? min("),
    Mutation(
        "channel-gone-unsaid", "a broadcast that may have arrived before its channel was deleted is said to be rejected",
        engine("Engine/ShardEngine+Channels"),
        "guard !self.core.memory.updates[update].top.mayBeSent, self.core.memory.updates[update].under.isEmpty else {",
        "guard self.core.memory.updates[update].under.isEmpty else {"),
    Mutation(
        "end-merged-away", "an update that comes while an end waits takes its place", engine("Engine/ShardEngine+Events"),
        "if let refusal = self.core.memory.enterLife(kind, isExpired: isExpired, of: slot) {",
        "if let refusal = self.core.memory.enterLife(kind, isExpired: isExpired, of: slot), self.core.memory.slots[slot].life != .ending {"),
    Mutation(
        "audience-version-early", "a version is told before it lies in `state`",
        engine("Audiences/AudiencePublisher+Owners"),
        "        core.memory.counters.versionsPublished += 1\n",
        "        core.memory.counters.versionsPublished += 1\n        self.sendVersions(slot, in: &core, now: now)\n", audiences=True),
    Mutation(
        "audience-cursor-ahead", "`state` says that a pass is over when it has begun",
        engine("FanOut/Crowds/Crowd+Progress"),
        "        part.position = from(self.passes[pass].course.position)\n",
        """        let pass_ = self.passes[pass].course
        part.position = from(pass_.targets.last?.until ?? pass_.position)
""", audiences=True),
    Mutation(
        "audience-tail-restarted", "a newer version begins its round where the order begins",
        engine("FanOut/Passes/Pass"),
        "        self.rebase()\n        self.apart.versionCame(",
        """        self.rebase()
        self.course.restore(
            position: 0, untils: self.course.targets.map(\\.until), aloneUntil: self.course.alone?.until,
            alertUntil: self.course.alertUntil, highUntil: self.course.highUntil,
            frequentHighUntil: self.course.frequentHighUntil, horizon: 0)
        self.course.countAhead(self.ring, in: table)
        self.upcoming.forget()
        self.apart.versionCame(\
""", audiences=True),
    Mutation(
        "audience-two-in-flight", "the round does not see that a member has not been answered",
        engine("FanOut/Passes/Pass"),
        "            let isUnanswered = flags.contains(.isInFlight)\n            guard isUnanswered || recent",
        "            let isUnanswered = flags.contains(.isInFlight) && flags.isEmpty\n            guard isUnanswered || recent", audiences=True),
    Mutation(
        "audience-move-high", "who comes from another audience within the hour gets priority 10 at once",
        engine("FanOut/FanOut+Passes"),
        "serving.mayBeHigh && !self.hasMoved(member, to: crowd, members: members, now: now)",
        "serving.mayBeHigh", audiences=True),
    Mutation(
        "audience-overtaken", "who joins before an event whose version overtakes the question gets it without alert",
        engine("Audiences/AudienceOwner"),
        "newest.isOpen || question.hasMembers(before: $0)",
        "newest.isOpen", audiences=True, test="AudienceTests"),
    Mutation(
        "audience-late-high", "who joins after a version has gone round gets it with priority 10",
        engine("FanOut/Passes/MembersApart"),
        "                return MemberServing(member: member)\n",
        "                return MemberServing(member: member, mayBeHigh: true)\n", audiences=True),
    Mutation(
        "audience-alert-forgotten", "members that have not got an alert lose it to the next version without one",
        engine("FanOut/Crowds/CrowdVersions"),
        "        } else if version.withdrawsAlert {\n            self.alert = nil\n",
        "        } else {\n            self.alert = nil\n", audiences=True),
    Mutation(
        "audience-takeover-quiet", "a partition's new owner brings no alert that its former owner began to bring",
        engine("FanOut/Crowds/Crowd+Restore"), "alertUntil: isAlertHere ? part.alertUntil : 0,",
        "alertUntil: isAlertHere ? 0 : 0,", audiences=True),
    Mutation(
        "audience-late-forgotten", "`state` says that all joins are served, whoever waits still",
        engine("FanOut/Crowds/Crowd+Progress"),
        "                progress.servedJoins = min(progress.servedJoins, first.offset)\n",
        "                _ = first\n", audiences=True),
    Mutation(
        "audience-void-believed", "a void is believed whichever life it is about",
        engine("FanOut/Crowds/Crowd+Versions"),
        "self.versions.life <= void.life", "void.life >= 0", audiences=True),
    Mutation(
        "start-rejoin", "whoever was sent a start, left and comes back, is sent it again",
        engine("FanOut/Starts/StartRound"), "guard isBack, let current, !(ghost?.names(current) ?? false),",
        "guard isBack, current != nil, ghost.map({ _ in true }) ?? true,", audiences=True),
    Mutation(
        "start-doubt-untold", "a new owner says nothing of members that the one before may have started",
        engine("FanOut/Starts/StartRound+Restore"),
        "guard let part, let unmet = part.unmet, part.unansweredCount > 0 else",
        "guard let part, let unmet = part.unmet, unmet < 0 else",
        audiences=True),
    Mutation(
        "start-beyond-horizon", "a start's round runs past what it has announced", engine("FanOut/Starts/StartRound"),
        "{ position < self.horizon }", "{ position < self.horizon || self.horizon > 0 }",
        test="StartRoundTests", audiences=True),
    Mutation(
        "start-unacknowledged", "a start leaves when the record that announces it has left, and is not acknowledged yet",
        engine("FanOut/Starts/StartRound"),
        "{ position < self.horizon }", "{ position < self.nextHorizon }", test="StartRoundTests", audiences=True),
    Mutation(
        "start-late-believed", "what a former owner writes late of a start that goes round is believed",
        engine("FanOut/FanOut+Restore"),
        """            let progress = try StartProgressRecord(&reader)
            guard core.memory.isBelieved(progress.epoch, partition: partition) else { return nil }
""",
        """            let progress = try StartProgressRecord(&reader)
            _ = core.memory.isBelieved(progress.epoch, partition: partition)
""", test="StartTakeoverTests", audiences=True),
    Mutation(
        "audience-pause-forgotten", "a partition's new owner pushes to members of audiences that are paused",
        engine("FanOut/FanOut+Restore"),
        "                self.readPause(crowd, in: &core)\n                self.settleRestored",
        "                self.settleRestored", audiences=True),
    Mutation(
        "audience-pause-early", "a pause is committed before `state` has it", engine("FanOut/FanOut+Pauses"),
        """        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: false)
        if pause.isPaused""",
        "        let entry = EntryID.none\n        if pause.isPaused", audiences=True),
    Mutation(
        "void-kept", "positions of another cluster's logs count in this one", engine("Partitions/ShardEngine+Partitions"),
        "if voidBefore >= 0, self.core.memory.slots[slot].recordOffset < voidBefore {",
        "if voidBefore >= 0, self.core.memory.slots[slot].recordOffset < min(voidBefore, -1) {", moves=True),
    Mutation(
        "void-not-told", "an owner that dies in another cluster leaves its successor positions that count",
        engine("Journal/Journal+State"), "voidBefore: isClaim ? -1 : memory.partitions[partition].voids.before)",
        "voidBefore: -1)", moves=True),
    Mutation(
        "void-copies-forgotten", "an event that was forwarded twice in another cluster is taken twice",
        engine("Partitions/VoidPositions"), "{ self.takenCopies.contains(copy) }",
        "{ self.takenCopies.isEmpty && self.takenCopies.contains(copy) }", moves=True),
    Mutation(
        "kept-no-intent", "a creation leaves before its intent is in `state`", keeping("Keeper/ChannelKeeper+Making"),
        "guard let held = self.table[number], held.isDurable else { return }\n            guard held.channel.owner",
        "guard let held = self.table[number], !held.isLeaving else { return }\n            guard held.channel.owner", kept=True),
    Mutation(
        "kept-lost-forgotten", "a lost answer is taken for a creation that made nothing",
        keeping("Keeper/ChannelKeeper+Making"),
        "        case .lost: self.loseAnswer(number, now: now)",
        "        case .lost: self.retryLater(number, now: now)", kept=True),
    Mutation(
        "kept-foreign", "an id that stood in the list before the creation is taken for what that has made",
        keeping("Keeper/ChannelKeeper+Making"),
        "        return !held.channel.strangers.contains(KeptChannel.hash(ofID: id))\n",
        "        return held.number == number\n", kept=True),
    Mutation(
        "kept-second", "what a creation has made beside the channel in its answer is unknown",
        keeping("Keeper/ChannelKeeper+Seconds"),
        "        for id in self.new(in: unknown, since: creation.before) {\n",
        "        for id in self.new(in: [], since: creation.before) {\n", kept=True),
    Mutation(
        "kept-only-listeners", "once members are served by their tokens, phones without one get nothing over the channel",
        engine("Channels/AudienceChannel"),
        "var isTried: Bool { self.serves || self.isCatchingUp }", "var isTried: Bool { self.serves }", kept=True),
    Mutation(
        "kept-told-unwritten", "a channel is told of before `state` has its id", keeping("Keeper/HeldChannel"),
        """        self.isWarm = held.channel.isWarm
        guard held.isDurable else { return }
""",
        """        self.isWarm = held.channel.isWarm
        self.isToBeAnnounced = held.announcement == nil && held.channel.owner != nil && held.unsentNews != nil
        guard held.isDurable else { return }
""", kept=True),
    Mutation(
        "kept-no-beacon", "the end is not broadcast again", keeping("Keeper/HeldChannel"),
        "self.beaconMillis = next.map { max(held.anchorMillis + $0, held.beaconNotBeforeMillis) }",
        "self.beaconMillis = next.map { _ in Int64.max }", kept=True),
    Mutation(
        "kept-others-adopted", "what is new after a lost answer is taken for ours, though others create as well",
        keeping("Keeper/ChannelKeeper+Lists"),
        "let adopted = self.settings.isExclusive ? new.first : nil", "let adopted = new.first", kept=True),
    Mutation(
        "kept-wrong-channel", "a member that says it listens is passed over whichever channel it has named",
        engine("FanOut/Crowds/Crowd"),
        "$0.environment == self.passes[pass].environment && $0.id == self.passes[pass].channelID",
        "$0.environment == self.passes[pass].environment", test="AudienceChannelTests", kept=True),
    Mutation(
        "kept-quota-own", "a keeper counts its own channels, and none of others, against what an app may have",
        keeping("Keeper/ChannelKeeper+Lists"),
        "        return ids.count + hidden\n",
        "        return ids.count { self.table.number(id: $0) != nil } + hidden\n", kept=True),
    Mutation(
        "kept-missed-forgotten", "who began to listen after a version's broadcast is left to the channel", engine("FanOut/Crowds/Crowd+Listeners"),
        "            let missing = self.recentListeners(version, pass: pass, now: now, in: table).map {\n",
        "            let missing = [RecentListeners.Join]().map {\n", kept=True),
    Mutation(
        "kept-straight", "a keeper says of every channel that it is none of its own",
        engine("Channels/KeeperHost+Keepers"),
        "isKept: channel != nil,", "isKept: false,", kept=True),
    Mutation(
        "written-without-lease", "records leave whether the group has confirmed the partitions or not",
        loop("ShardLoop"),
        "        guard self.mayAct(now) else { return }\n        let isUrgent",
        "        _ = self.mayAct(now)\n        let isUrgent"),
    Mutation(
        "committed-without-lease", "the same of commits",
        loop("ShardLoop"),
        "due <= now.steadyMillis, self.mayAct(now) else { return }",
        "due <= now.steadyMillis else { return }"),
    Mutation(
        "pushed-without-lease", "the same of pushes",
        loop("ShardLoop"),
        "            self.pushReady(now)\n        }\n        self.push.flush()",
        "        }\n        self.pushReady(now)\n        self.push.flush()"),
    Mutation(
        "committed-unacknowledged", "an offset is committed when its last record has left, and is not acknowledged yet",
        engine("Journal/OffsetLedger"),
        "return head.isNone ? self.logs[log].nextOffset : self.entries[head].offset",
        "return head.isNone ? self.logs[log].nextOffset : self.entries[head].offset + (self.entries[head].acknowledgementsOutstanding > 0 ? 1 : 0)"),
    Mutation(
        "handed-over-unacknowledged", "a partition is handed over as done before its records are acknowledged",
        loop("ShardLoop+Commands"),
        "            guard self.releases[index].awaited.isEmpty || now.steadyMillis >= release.endsAtMillis else { continue }\n            // All partitions of the release are checked again: an answer may have arrived for one that had finished.\n            let unfinished = release.ran.filter { !self.engine.isSettled(partition: $0) }\n",
        "            let unfinished = [Int32]()\n"),
    Mutation(
        "window-anew", "the window of low priority begins anew with each update",
        engine("Dispatch/Dispatch"),
        "                at, memory.updates[update].firstUnsentMillis + memory.configuration.apps[app].lowPriorityWindowMillis)",
        "                at, memory.slots[slot].lifeEndsMillis - memory.configuration.settings.lifetimeMillis\n                    + memory.configuration.apps[app].lowPriorityWindowMillis)"),
    Mutation(
        "retry-after-ignored", "`retry-after` makes no back-off longer",
        engine("Dispatch/Dispatch+Budget"),
        "        let asked = min(max(retryAfterSeconds ?? 0, 0), 3_600) * 1_000",
        "        let asked = min(max(retryAfterSeconds ?? 0, 0), 0) * 1_000"),
    Mutation(
        "back-off-outlives-token", "a new token does not end the back-off of the one before",
        engine("Engine/ShardEngine+Events"),
        "        if isNew || !wasUsable { self.core.dispatch.forgetFailures(slot, in: &self.core.memory) }",
        "        if isNew || !wasUsable, self.core.memory.slots[slot].attempt == 0 { self.core.dispatch.forgetFailures(slot, in: &self.core.memory) }"),
    Mutation(
        "unknown-alert-again", "`alert.on-unknown: drop` means nothing for members of an audience",
        engine("FanOut/FanOut+MemberAnswers"),
        "                dropsAlert: core.memory.configuration.apps[Int(push.app)].alertOnUnknown == .drop,\n",
        "                dropsAlert: false,\n", audiences=True),
    Mutation(
        "kept-beacon-failed", "an end that is broadcast again, and fails, counts as sent", keeping("Keeper/ChannelKeeper+Ends"),
        "            self.table.update(number) { $0.beaconNotBeforeMillis = now.steadyMillis + Self.beaconRetryMillis }\n",
        "            self.table.change(number) { $0.channel.beaconsSent = dueCount }\n", kept=True),
]


def complain(text):
    print(f"mutations: {text}", file=sys.stderr)


def tracked():
    """Paths of what the build needs, as they are in the working tree."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z", "Package.swift", "Sources", "Tests", "Benchmarks"],
        cwd=ROOT, check=True, capture_output=True).stdout.decode()
    paths = [pathlib.Path(path) for path in listed.split("\0") if path]
    if (ROOT / "Package.resolved").exists():
        paths.append(pathlib.Path("Package.resolved"))
    return [path for path in paths if (ROOT / path).is_file()]


def misfit(mutation):
    """Why the mutation no longer fits the tree."""
    file = ROOT / mutation.file
    count = file.read_text().count(mutation.old) if file.exists() else 0
    if count != 1:
        yield f"{mutation.name}: its text stands {count} times in {mutation.file}, expected once"
    if mutation.test and not any((ROOT / "Tests").rglob(f"{mutation.test}.swift")):
        yield f"{mutation.name}: no tests are called {mutation.test}"


def numbered(mutations):
    """The mutations, each with the number by which the variable names it. It depends on the list alone, so that one build serves whatever is chosen of it."""
    return [(number, mutation) for number, mutation in enumerate(MUTATIONS, 1) if mutation in mutations]


def woven_texts(mutations):
    """Texts of the files that differ in the copy, by path, and those mutations that could not be woven in."""
    texts, homeless = {}, []
    for file in sorted({mutation.file for mutation in mutations}):
        patches = [(number, mutation.old, mutation.new) for number, mutation in numbered(mutations) if mutation.file == file]
        texts[pathlib.Path(file)], left = weaving.woven((ROOT / file).read_text(), patches)
        texts[pathlib.Path(*pathlib.Path(file).parts[:2], weaving.SWITCH_FILE)] = weaving.SWITCH
        homeless += [MUTATIONS[number - 1] for number in left]
    return texts, homeless


def copy_tree(texts):
    """Brings the copy up to date, with these texts in place of the tree's; a file that has not changed keeps its time, so that little is built again."""
    wanted = {path: (ROOT / path).read_bytes() for path in tracked()} | {path: text.encode() for path, text in texts.items()}
    for path in list(TREE.rglob("*")) if TREE.exists() else []:
        if path.is_file() and path.relative_to(TREE) not in wanted:
            path.unlink()
    for path, content in wanted.items():
        write(TREE / path, content)


def write(path, content):
    if path.exists() and path.read_bytes() == content:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


class DoesNotBuild(Exception):
    """`files`: those of the tree in which the compiler found errors."""

    def __init__(self, output):
        errors = [line for line in output.splitlines() if "error:" in line]
        super().__init__("it does not build:\n" + "\n".join(errors or output.splitlines()[-20:]))
        self.files = {line.removeprefix(f"{TREE}/").split(":")[0] for line in errors if line.startswith(f"{TREE}/")}


def swift_build(*words):
    return ["swift", "build", "--package-path", str(TREE), "--scratch-path", str(BUILD), *words]


def build(*words):
    """The folder of what was built."""
    begun = time.monotonic()
    built = subprocess.run(swift_build(*words), capture_output=True, text=True, env=ENVIRONMENT)
    if built.returncode != 0:
        raise DoesNotBuild(built.stdout + built.stderr)
    print(f"built: {' '.join(words)}, {time.monotonic() - begun:.0f} s", flush=True)
    where = subprocess.run(swift_build(*words, "--show-bin-path"), capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return pathlib.Path(where.stdout.strip())


@dataclasses.dataclass
class Programs:
    """What plays mutations: the simulation, and the tests, which are built when somebody asks for them."""

    simulate: pathlib.Path
    tests: pathlib.Path | None = None

    @classmethod
    def build(cls, with_tests):
        simulate = build("--configuration", "release", "--product", "simulate") / "simulate"
        return cls(simulate, build("--build-tests") / "mailboatPackageTests.xctest" if with_tests else None)


@dataclasses.dataclass
class Verdict:
    seed: int | None
    seconds: float
    message: str


def environment(number):
    return ENVIRONMENT | {weaving.VARIABLE: str(number)}


def play(simulate, number, seeds, worlds, passed_over=frozenset()):
    """Plays seeds from 0 on until one fails, but for those that are passed over."""
    begun = time.monotonic()
    first = 0
    for last in sorted(passed_over | {seeds}):
        if last > seeds:
            break
        verdict = play_some(simulate, number, first, last - first, worlds) if last > first else Verdict(None, 0, "")
        verdict.seconds = time.monotonic() - begun
        if verdict.seed is not None:
            return verdict
        first = last + 1
    return Verdict(None, time.monotonic() - begun, "")


def play_some(simulate, number, first, count, worlds):
    """Plays so many seeds until one fails."""
    begun = time.monotonic()
    words = [str(simulate), "--from", str(first), "--seeds", str(count), "--first-failure"]
    try:
        run = subprocess.run(words + list(worlds), capture_output=True, text=True, timeout=SECONDS_MAX, env=environment(number))
    except subprocess.TimeoutExpired:
        return Verdict(-1, time.monotonic() - begun, f"does not end within {SECONDS_MAX} s")
    seconds = time.monotonic() - begun
    if run.returncode == 0:
        return Verdict(None, seconds, "")
    trapped = re.search(r"the run trapped; play it again with SEED=(\d+)", run.stderr)
    if trapped:
        reason = re.search(r"(?:Precondition failed|Fatal error|Assertion failed): (.*)", run.stderr)
        return Verdict(int(trapped[1]), seconds, "traps" + (f": {reason[1]}" if reason else ""))
    failed = re.search(r"^seed (\d+) at \d+ ms: (.*)$", run.stdout, re.MULTILINE)
    if not failed:
        return Verdict(-1, seconds, f"exit status {run.returncode}: {(run.stdout + run.stderr)[-300:]}")
    return Verdict(int(failed[1]), seconds, failed[2])


def run_tests(tests, number, suite):
    """Whether a suite was run and held, the test that failed, and what was said."""
    words = [str(tests), "--testing-library", "swift-testing", "--no-parallel", "--filter", rf"\.{suite}/"]
    try:
        run = subprocess.run(words, capture_output=True, text=True, timeout=SECONDS_MAX, env=environment(number), cwd=TREE)
    except subprocess.TimeoutExpired:
        return False, None, f"does not end within {SECONDS_MAX} s"
    said = run.stdout + run.stderr
    failed = re.search(r"Test (\w+)\(.*\) failed after|Test (\w+)\(.*\) recorded an issue", said)
    ran = re.search(r"Test run with [1-9]\d* test", said)
    return run.returncode == 0 and ran is not None, failed and (failed[1] or failed[2]), said[-300:]


def fails(tests, number, suite):
    """The test of a suite that fails; `None`: none does."""
    holds, failed, said = run_tests(tests, number, suite)
    if not holds and not failed:
        complain(f"{suite} could not be run: {said}")
    return None if holds else failed


def notices(mutation, number, programs, asked):
    """Whether a seed or a test notices the mutation. Tells what came of it."""
    seeds = mutation.seeds(asked)
    verdict = play(programs.simulate, number, seeds, mutation.worlds, mutation.passed_over(asked))
    if verdict.seed is not None and verdict.seed < 0:
        print(f"{mutation.name}: {verdict.message}", flush=True)
        return False
    if verdict.seed is not None:
        print(f"{mutation.name}: seed {verdict.seed}, {verdict.seconds:.1f} s: {verdict.message}", flush=True)
        return True
    test = fails(programs.tests, number, mutation.test) if mutation.test else None
    if test:
        print(f"{mutation.name}: no seed of {seeds}; test {mutation.test}/{test}", flush=True)
    else:
        print(f"{mutation.name}: NOT NOTICED in {seeds} seeds, {verdict.seconds:.0f} s", flush=True)
    return test is not None


def in_parallel(function, items):
    """What the function says of each; one at a time for each core."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(function, items))


def weave(mutations, with_tests):
    """Builds the copy with as many of the mutations as it takes.
    - Returns: programs that play them; those that need a build of their own."""
    together, alone = list(mutations), []
    while True:
        texts, homeless = woven_texts(together)
        copy_tree(texts)
        try:
            return Programs.build(with_tests), alone + homeless
        except DoesNotBuild as failure:
            left = [mutation for mutation in together if mutation.file not in failure.files]
            if left == together:
                raise
            print(f"{', '.join(sorted(failure.files))}: not woven. {failure}", flush=True)
            alone += [mutation for mutation in together if mutation not in left]
            together = left


def play_unbroken(programs, mutations, asked):
    """Whether the unbroken code holds in all worlds and tests that the mutations are played in."""
    def holds(item):
        worlds, one = item
        seeds = one.seeds(asked)
        verdict = play(programs.simulate, UNBROKEN, seeds, worlds, one.passed_over(asked))
        if verdict.seed is not None:
            complain(f"the unbroken code fails seed {verdict.seed} with {' '.join(worlds)}: {verdict.message}")
            return False
        print(f"unbroken: {seeds} seeds with {' '.join(worlds)} hold, {verdict.seconds:.0f} s", flush=True)
        return True

    def passes(suite):
        passed, failed, said = run_tests(programs.tests, UNBROKEN, suite)
        if not passed:
            complain(f"the unbroken code fails {suite}: {failed or said}")
        return passed

    worlds = sorted({mutation.worlds: mutation for mutation in mutations}.items())
    suites = sorted({mutation.test for mutation in mutations if mutation.test}) if programs.tests else []
    return all(in_parallel(holds, worlds) + in_parallel(passes, suites))


def play_alone(mutation, asked):
    """Whether the mutation is noticed, in a build of its own."""
    file = pathlib.Path(mutation.file)
    copy_tree({file: (ROOT / file).read_text().replace(mutation.old, mutation.new)})
    try:
        return notices(mutation, UNBROKEN, Programs.build(mutation.test is not None), asked)
    except DoesNotBuild as failure:
        complain(f"{mutation.name}: {failure}")
        return False


def main():
    parser = argparse.ArgumentParser(description="Break promises one by one; the simulation must notice each.")
    parser.add_argument("--seeds", type=int, default=2_000, help="seeds to play for each, from 0 on (default 2000)")
    parser.add_argument(
        "--audience-seeds", type=int, default=1_000, help="the same for those that concern audiences (default 1000)")
    parser.add_argument(
        "--kept-seeds", type=int, default=200, help="the same for those that concern channels kept for audiences (default 200)")
    parser.add_argument(
        "--pass-over", default="", metavar="SEEDS",
        help="seeds with audiences that the unbroken code fails, separated by commas: they are not played")
    parser.add_argument(
        "--pass-over-kept", default="", metavar="SEEDS", help="the same of worlds that keep channels for audiences")
    parser.add_argument("--only", help="names of mutations, separated by commas")
    parser.add_argument("--list", action="store_true", help="tell their names and what they break")
    parser.add_argument("--fit", action="store_true", help="only see whether each still fits the source; builds nothing")
    parser.add_argument("--alone", action="store_true", help="give each a build of its own, and weave none into another's")
    parser.add_argument("--skip-unbroken", action="store_true", help="do not play the unbroken code first")
    asked = parser.parse_args()
    if asked.list:
        for mutation in MUTATIONS:
            print(f"{mutation.name}: {mutation.what}")
        return 0
    names = asked.only.split(",") if asked.only else [mutation.name for mutation in MUTATIONS]
    unknown = set(names) - {mutation.name for mutation in MUTATIONS}
    if unknown:
        complain(f"no mutation is called {', '.join(sorted(unknown))}; --list tells their names")
        return 2
    chosen = [mutation for mutation in MUTATIONS if mutation.name in names]

    # First all patches: one that fits no more is told before anything is built.
    misfits = [reason for mutation in chosen for reason in misfit(mutation)]
    for reason in misfits:
        complain(reason)
    if misfits:
        return 1
    if asked.fit:
        weaving.check()
        woven_texts(chosen)
        return 0
    try:
        programs, alone = weave([] if asked.alone else MUTATIONS, with_tests=any(mutation.test for mutation in chosen))
    except DoesNotBuild as failure:
        complain(failure)
        return 1
    if not asked.skip_unbroken and not play_unbroken(programs, chosen, asked):
        return 1
    alone = chosen if asked.alone else [mutation for mutation in chosen if mutation in alone]
    together = [(number, mutation) for number, mutation in numbered(chosen) if mutation not in alone]
    print(f"mutations: {len(together)} in one build" + "".join(f"; {mutation.name} alone" for mutation in alone), flush=True)
    noticed = in_parallel(lambda item: notices(item[1], item[0], programs, asked), together)
    survivors = [mutation.name for (_, mutation), was in zip(together, noticed) if not was]
    survivors += [mutation.name for mutation in alone if not play_alone(mutation, asked)]
    if survivors:
        complain(f"{len(survivors)} of {len(chosen)} survive: {', '.join(survivors)}")
        return 1
    print(f"mutations: {len(chosen)} of {len(chosen)} noticed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
