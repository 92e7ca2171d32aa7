/// Instructions by function, callees included, from a profile of callgrind (format: "Callgrind Format Specification" in
/// valgrind's manual).
struct InclusiveProfile {
    /// Instructions of all calls of a function, by its mangled symbol.
    private(set) var instructions: [Substring: Int] = [:]

    init(_ text: String) {
        // The file has a function's name only where the function first occurs, and later only its number.
        var names: [Substring: Substring] = [:]
        var callee: Substring?
        var isCallCost = false
        for line in text.split(separator: "\n") {
            if line.hasPrefix("fn=") {
                _ = Self.name(line.dropFirst(3), &names)
            } else if line.hasPrefix("cfn=") {
                callee = Self.name(line.dropFirst(4), &names)
            } else if line.hasPrefix("calls=") {
                isCallCost = true
            } else if isCallCost {
                isCallCost = false
                guard let callee, let cost = line.split(separator: " ").last.flatMap({ Int($0) }) else { continue }
                self.instructions[callee, default: 0] += cost
            }
        }
    }

    /// Instructions of all functions whose symbol contains a text. A call from one of them to another counts twice.
    func instructions(in symbolPart: String) -> Int {
        self.instructions.reduce(0) { $0 + ($1.key.contains(symbolPart) ? $1.value : 0) }
    }

    /// Reads a name. It is in the text, as in "(12) name", or an earlier line has given it for "(12)".
    private static func name(_ text: Substring, _ names: inout [Substring: Substring]) -> Substring {
        guard let end = text.firstIndex(of: ")") else { return text }
        let number = text[...end]
        let rest = text[text.index(after: end)...].drop { $0 == " " }
        if !rest.isEmpty { names[number] = rest }
        return names[number] ?? number
    }
}
