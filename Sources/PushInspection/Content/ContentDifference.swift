/// The differences between two values of a `content-state`, path by path.
public enum ContentDifference {
    /// One path at which the two values differ.
    public struct Change: Equatable, Sendable {
        /// The path, such as `driver.name` or `legs[0].at`; empty: the whole value.
        public var path: String
        /// The earlier value as JSON; `nil`: it was missing.
        public var before: String?
        /// The later value as JSON; `nil`: it was removed.
        public var after: String?

        public init(path: String, before: String?, after: String?) {
            self.path = path
            self.before = before
            self.after = after
        }

        /// The change as JSON for the page and the API.
        public var json: JSONTree {
            ["path": .string(self.path), "before": .optional(self.before), "after": .optional(self.after)]
        }
    }

    /// Maximum number of changes that are reported. The others are left out.
    public static let changesMax = 64

    /// The changes in the order of `after`, followed by what was removed. The order of members and the spelling of
    /// equal numbers do not matter.
    public static func changes(from before: JSONTree?, to after: JSONTree?) -> [Change] {
        var changes: [Change] = []
        Self.compare(before, after, path: "", &changes)
        return Array(changes.prefix(Self.changesMax))
    }

    private static func compare(_ before: JSONTree?, _ after: JSONTree?, path: String, _ changes: inout [Change]) {
        guard changes.count < Self.changesMax else { return }
        func below(_ name: String) -> String { path.isEmpty ? name : "\(path).\(name)" }
        switch (before, after) {
        case (nil, nil): return
        case (.object(let old)?, .object(let new)?):
            for member in new { Self.compare(before?[member.name], member.value, path: below(member.name), &changes) }
            for member in old where after?[member.name] == nil {
                Self.compare(member.value, nil, path: below(member.name), &changes)
            }
        case (.array(let old)?, .array(let new)?):
            for index in 0..<max(old.count, new.count) {
                Self.compare(
                    index < old.count ? old[index] : nil, index < new.count ? new[index] : nil,
                    path: "\(path)[\(index)]", &changes)
            }
        default:
            if let before, let after, Self.areSame(before, after) { return }
            changes.append(Change(path: path, before: before?.text, after: after?.text))
        }
    }

    private static func areSame(_ left: JSONTree, _ right: JSONTree) -> Bool {
        if let left = left.double, let right = right.double { return left == right }
        return left == right
    }
}
