extension SimulatedAudience {
    /// The audience as JSON for the page and the API, without tokens.
    public var json: JSONTree {
        [
            "id": .integer(self.id), "name": .string(self.name), "app": .string(self.app),
            "members": .integer(self.members.count),
            "startMembers": .integer(self.members.count { $0.isStartMember }),
            "unfollowed": .integer(self.unfollowedCount),
            "newestStamp": self.newestStampSeconds.map { .integer($0) } ?? .null,
            "counts": [
                "newest": .integer(self.counts.newest), "older": .integer(self.counts.older),
                "untouched": .integer(self.counts.untouched), "away": .integer(self.counts.away),
                "ended": .integer(self.counts.ended), "dismissed": .integer(self.counts.dismissed),
                "gone": .integer(self.counts.gone),
            ],
            "shown": .array(
                self.groups.map { group in
                    [
                        "members": .integer(group.count),
                        "stamp": group.stampSeconds.map { .integer($0) } ?? .null,
                        "contentState": group.content ?? .null,
                    ]
                }),
            "rounds": .array(zip(self.rounds, self.verdicts).map { $0.json($1) }),
            "field": AudienceField(self.members).json,
        ]
    }
}
