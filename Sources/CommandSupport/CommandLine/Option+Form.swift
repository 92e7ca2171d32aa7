package import ArgumentParser

extension Option where Value: Sendable {
    /// An option with a default, whose value has a form.
    /// - Parameter form: the form of the value. The help has its range and the default.
    package init(
        wrappedValue: Value, name: NameSpecification = .long, help: ArgumentHelp, form: ValueForm<Value>
    ) {
        self.init(
            wrappedValue: wrappedValue, name: name, help: help.naming(form.range, usually: "\(wrappedValue)"),
            transform: form.read)
    }
}

extension Option {
    /// An option that may be omitted, whose value has a form.
    /// - Parameter form: the form of the value. The help has its range.
    package init<Wrapped: Sendable>(
        name: NameSpecification = .long, help: ArgumentHelp, form: ValueForm<Wrapped>
    ) where Value == Wrapped? {
        self.init(name: name, help: help.naming(form.range), transform: form.read)
    }

    /// An option that may be repeated, each of whose values has a form.
    /// - Parameter form: the form of each value. The help has its range.
    package init<Element: Sendable>(
        wrappedValue: [Element], name: NameSpecification = .long, help: ArgumentHelp, form: ValueForm<Element>
    ) where Value == [Element] {
        let standard = wrappedValue.map { "\($0)" }.joined(separator: ", ")
        self.init(
            wrappedValue: wrappedValue, name: name,
            help: help.naming(form.range, usually: standard.isEmpty ? nil : standard), transform: form.read)
    }
}

extension Option<String> {
    /// A required option, whose value has a form.
    package init(name: NameSpecification = .long, help: ArgumentHelp, form: ValueForm<String>) {
        self.init(name: name, help: help, transform: form.read)
    }
}

extension ArgumentHelp {
    /// The help text, followed by the range of the values and the default.
    fileprivate func naming(_ range: String?, usually standard: String? = nil) -> ArgumentHelp {
        let facts = [range, standard.map { "default: \($0)" }].compactMap(\.self)
        guard !facts.isEmpty else { return self }
        var help = self
        help.abstract += " (\(facts.joined(separator: "; ")))"
        return help
    }
}
