import ArgumentParser

/// Prints earlier results as the Markdown table of Benchmarks/README.md.
struct TableCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "table", abstract: "Print results as a Markdown table.")

    @Argument(help: ArgumentHelp("The JSON of an earlier run.", valueName: "file"))
    var results: String

    func run() throws { print(ResultTable.markdown(try Results.read(from: self.results).rows)) }
}
