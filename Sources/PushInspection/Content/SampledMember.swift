/// A member of objects that are samples of one type.
struct SampledMember {
    var name: String
    /// The member's values in the samples that have it. If a sample has it twice, the last value counts, as for
    /// decoders.
    var values: [JSONTree]
    /// Whether some sample lacks the member.
    var isMissingSomewhere: Bool

    /// The members in the order of their first occurrence.
    static func all(of samples: [JSONTree]) -> [SampledMember] {
        var names: [String] = []
        var values: [String: [JSONTree]] = [:]
        var sampleCount = 0
        for case .object(let members) in samples {
            sampleCount += 1
            var own: [String: JSONTree] = [:]
            for member in members {
                if values[member.name] == nil {
                    names.append(member.name)
                    values[member.name] = []
                }
                own[member.name] = member.value
            }
            for (name, value) in own { values[name, default: []].append(value) }
        }
        return names.map { name in
            let found = values[name] ?? []
            return SampledMember(name: name, values: found, isMissingSomewhere: found.count < sampleCount)
        }
    }
}
