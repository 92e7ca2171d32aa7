/// Finds the types that a Swift source declares, and splits the source into tokens.
extension SwiftTypeReader {
    private var current: String? { self.tokens.indices.contains(self.next) ? self.tokens[self.next] : nil }

    private mutating func pass() -> String {
        while self.current == "\n" { self.next += 1 }
        defer { self.next += 1 }
        return self.current ?? ""
    }

    /// Reads declarations up to the brace that ends the type, or to the end of the source.
    mutating func readDeclarations(into type: String?) throws(Fault) {
        while let token = self.current, token != "}" {
            self.next += 1
            switch token {
            case "struct", "class", "enum", "extension", "actor": try self.readType(as: token)
            case "var", "let":
                let isStatic = self.isStatic(before: self.next - 1)
                self.readProperties(isConstant: token == "let", of: isStatic ? nil : type)
            case "case": self.readCases(of: type)
            case "typealias": self.readAlias()
            case "init":
                // `init(from decoder: any Decoder)`
                if self.tokens.dropFirst(self.next).prefix(2).elementsEqual(["(", "from"]), let type {
                    self.declarations[type]?.decodesByItself = true
                }
                self.passHead()
            case "func", "subscript": self.passHead()
            case "{": self.passBlock()
            default: break
            }
        }
        self.next += 1
    }

    private func isStatic(before index: Int) -> Bool {
        index > 0 && ["static", "class"].contains(self.tokens[index - 1])
    }

    /// - Parameter keyword: the word before the name, such as `struct` or `extension`.
    private mutating func readType(as keyword: String) throws(Fault) {
        let isEnum = keyword == "enum"
        var name = self.pass()
        let outerPath = self.path
        defer { self.path = outerPath }
        self.path.append(name)
        // `extension PizzaAttributes.ContentState`
        while self.current == "." {
            self.next += 1
            name = self.pass()
            self.path.append(name)
        }
        var inherits: [String] = []
        while let token = self.current, token != "{" {
            inherits.append(token)
            self.next += 1
        }
        self.next += 1
        let fullName = self.path.joined(separator: ".")
        // An extension adds to the declaration that exists.
        if let known = self.declarations[name] {
            self.declarations[name]?.inherits += inherits
            if keyword != "extension", name != Self.keysName, known.isDeclared, known.fullName != fullName {
                self.declarations[name]?.twin = fullName
            }
        } else {
            self.declarations[name] = Declaration(isEnum: isEnum, fullName: fullName, inherits: inherits)
        }
        if keyword != "extension" { self.declarations[name]?.isDeclared = true }
        self.depth += 1
        defer { self.depth -= 1 }
        guard self.depth <= Self.depthMax else { throw Fault(description: "its types are nested too deeply") }
        guard !isEnum else { return try self.readDeclarations(into: name) }
        let outerKeys = self.declarations.removeValue(forKey: Self.keysName)
        try self.readDeclarations(into: name)
        if let keys = self.declarations.removeValue(forKey: Self.keysName)?.keys {
            self.declarations[name]?.keys = keys
        }
        self.declarations[Self.keysName] = outerKeys
        if !self.structs.contains(name), self.declarations[name]?.properties.isEmpty == false {
            self.structs.append(name)
        }
    }

    /// Reads `typealias ContentState = PizzaState`. Leaves out an alias of a type such as `[String]`.
    private mutating func readAlias() {
        let name = self.pass()
        var tokens: [String] = []
        while let token = self.current, !["\n", ";", "}"].contains(token) {
            tokens.append(token)
            self.next += 1
        }
        let words = tokens.filter { $0 != "=" && $0 != "." }
        guard tokens.count == 2 * words.count, let target = words.last else { return }
        self.aliases[name] = target
    }

    /// Reads cases such as `case baking, onItsWay = "on-its-way"`.
    private mutating func readCases(of type: String?) {
        repeat {
            let name = self.pass().filter { $0 != "`" }
            var raw = name
            if self.current == "=" {
                self.next += 1
                let literal = self.pass()
                if literal.hasPrefix("\"") { raw = String(literal.dropFirst()) }
            }
            if let type {
                let known = self.declarations[type]?.keys ?? [:]
                self.declarations[type]?.cases.append(raw)
                self.declarations[type]?.keys = known.merging([name: raw]) { $1 }
            }
            guard self.current == "," else { break }
            self.next += 1
        } while true
    }

    /// Reads properties such as `var status: String`, `var home, away: Int`, `var home: Int, clock: String`,
    /// `var progress: Double = 0`. Computed properties are not decoded.
    private mutating func readProperties(isConstant: Bool, of type: String?) {
        var names = [self.pass().filter { $0 != "`" }]
        while self.current == "," {
            self.next += 1
            names.append(self.pass().filter { $0 != "`" })
        }
        var tokens: [String] = []
        if self.current == ":" {
            self.next += 1
            var depth = 0
            while let token = self.current {
                if depth == 0, ["=", "{", "}", ";", "\n", ","].contains(token) { break }
                if ["[", "<", "("].contains(token) { depth += 1 }
                if ["]", ">", ")"].contains(token) { depth -= 1 }
                if token != "\n" { tokens.append(token) }
                self.next += 1
            }
        }
        let hasValue = self.current == "="
        if hasValue { while let token = self.current, !["\n", ";", "{", "}"].contains(token) { self.next += 1 } }
        var isComputed = false
        if self.current == "{" {
            isComputed =
                !hasValue && !["willSet", "didSet"].contains(self.tokens.dropFirst(self.next + 1).first { $0 != "\n" })
            self.next += 1
            self.passBlock()
        }
        // A constant with a value is not decoded.
        guard let type, !isComputed, !(isConstant && hasValue) else { return }
        self.declarations[type]?.properties += names.map { Property(name: $0, type: tokens) }
        guard self.current == "," else { return }
        self.next += 1
        self.readProperties(isConstant: isConstant, of: type)
    }

    /// Skips a function's head and body.
    private mutating func passHead() {
        while let token = self.current, token != "{", token != "}" { self.next += 1 }
        guard self.current == "{" else { return }
        self.next += 1
        self.passBlock()
    }

    /// Skips the rest of a block whose opening brace has been read.
    private mutating func passBlock() {
        var depth = 1
        while depth > 0, let token = self.current {
            if token == "{" { depth += 1 }
            if token == "}" { depth -= 1 }
            self.next += 1
        }
    }

    /// The source's tokens: words, signs, line ends. A string token begins with its quote and has no closing one.
    /// Comments are left out.
    static func tokens(of text: String) -> [String] {
        var tokens: [String] = []
        var rest = Substring(text)
        while let character = rest.first {
            if rest.hasPrefix("//") {
                rest = rest.drop { !$0.isNewline }
            } else if rest.hasPrefix("/*") {
                rest = rest.firstRange(of: "*/").map { rest[$0.upperBound...] } ?? ""
            } else if character == "\"" {
                let inner = rest.dropFirst().prefix { $0 != "\"" && !$0.isNewline }
                tokens.append("\"" + inner)
                rest = rest.dropFirst(inner.count + 2)
            } else if character.isLetter || character.isNumber || character == "_" || character == "`" {
                let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" || $0 == "`" }
                tokens.append(String(word))
                rest = rest.dropFirst(word.count)
            } else if character.isNewline {
                tokens.append("\n")
                rest = rest.dropFirst()
            } else {
                if !character.isWhitespace { tokens.append(String(character)) }
                rest = rest.dropFirst()
            }
        }
        return tokens
    }
}
