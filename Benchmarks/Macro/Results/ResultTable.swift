/// The results as a table for a terminal or a Markdown page.
enum ResultTable {
    static let headings = ["row", "value", "unit", "beside", "ratio", "at least", "aim", "holds"]

    static func markdown(_ rows: [ResultRow]) -> String {
        var lines = [Self.line(Self.headings), Self.line(Self.headings.map { _ in "---" })]
        lines += rows.map { Self.line(Self.cells($0)) }
        return lines.joined(separator: "\n")
    }

    /// The table as plain text with aligned columns.
    static func plain(_ rows: [ResultRow]) -> String {
        let table = [Self.headings] + rows.map(Self.cells)
        let widths = Self.headings.indices.map { column in table.map { $0[column].count }.max() ?? 0 }
        return table.map { cells in
            cells.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: widths[column] - cell.count)
                // Names and units are aligned left, and numbers right.
                return column == 0 || column == 2 ? cell + padding : padding + cell
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    private static func cells(_ row: ResultRow) -> [String] {
        [
            row.name, row.value.short, row.unit, row.baseline?.short ?? "", row.ratio?.short ?? "",
            row.atLeast?.short ?? "", row.aim?.short ?? "", row.holds.map { $0 ? "yes" : "NO" } ?? "",
        ]
    }

    private static func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
}
