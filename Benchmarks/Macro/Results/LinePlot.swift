import Foundation

/// A line plot as SVG, made without a library. Axes begin at zero and have round numbers beside them.
struct LinePlot {
    var title: String
    var xTitle: String
    var yTitle: String
    private var lines: [(name: String, points: [(x: Double, y: Double)])] = []

    private static let (width, height) = (640.0, 360.0)
    private static let (left, right, top, bottom) = (84.0, 24.0, 48.0, 60.0)
    private static let colours = ["#1f6feb", "#d1242f", "#1a7f37"]

    init(title: String, xTitle: String, yTitle: String) {
        self.title = title
        self.xTitle = xTitle
        self.yTitle = yTitle
    }

    /// Adds a line, with its points from left to right.
    mutating func add(_ name: String, _ points: [(Double, Double)]) {
        self.lines.append((name, points.map { (x: $0.0, y: $0.1) }))
    }

    func write(to path: String) throws {
        do {
            try Data(self.svg.utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
        } catch {
            throw BenchmarkFailure("\(path): cannot be written (\(error.localizedDescription))")
        }
    }

    var svg: String {
        var parts = [
            #"<svg xmlns="http://www.w3.org/2000/svg" width="\#(Self.width.plain)" height="\#(Self.height.plain)" "#
                + #"viewBox="0 0 \#(Self.width.plain) \#(Self.height.plain)" font-family="sans-serif" font-size="12">"#,
            #"<rect width="100%" height="100%" fill="white"/>"#,
            self.text(self.title, Self.width / 2, 24, size: 15, anchor: "middle"),
            self.text(self.xTitle, (Self.left + Self.width - Self.right) / 2, Self.height - 14, anchor: "middle"),
            #"<g transform="rotate(-90 18 \#((Self.height / 2).plain))">"#
                + self.text(self.yTitle, 18, Self.height / 2, anchor: "middle") + "</g>",
        ]
        parts += self.grid()
        for (index, line) in self.lines.enumerated() {
            parts.append(self.draw(line, Self.colours[index % Self.colours.count]))
        }
        parts += self.legend()
        return (parts + ["</svg>", ""]).joined(separator: "\n")
    }

    // MARK: Scales

    private var xMax: Double { Self.ceiling(self.lines.flatMap { $0.points.map(\.x) }.max() ?? 0) }

    /// A round number at or above the highest value.
    static func ceiling(_ value: Double) -> Double {
        guard value > 0, value.isFinite else { return 1 }
        let power = pow(10, log10(value).rounded(.down))
        for step in [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10] where step * power >= value { return step * power }
        return 10 * power
    }

    private var yMax: Double { Self.ceiling(self.lines.flatMap { $0.points.map(\.y) }.max() ?? 0) }

    private func position(x: Double) -> Double {
        Self.left + x / self.xMax * (Self.width - Self.left - Self.right - 40)
    }

    private func position(y: Double) -> Double {
        Self.height - Self.bottom - y / self.yMax * (Self.height - Self.top - Self.bottom)
    }

    // MARK: Parts

    private func grid() -> [String] {
        var parts: [String] = []
        for step in 0...4 {
            let value = self.yMax * Double(step) / 4
            let y = self.position(y: value)
            parts.append(
                #"<line x1="\#(Self.left.plain)" y1="\#(y.plain)" x2="\#((Self.width - Self.right).plain)" y2="\#(y.plain)" "#
                    + #"stroke="lightgray"/>"#)
            parts.append(self.text(value.short, Self.left - 8, y + 4, anchor: "end"))
        }
        for step in 0...6 {
            let x = self.xMax * Double(step) / 6
            parts.append(self.text(x.short, self.position(x: x), Self.height - Self.bottom + 18, anchor: "middle"))
        }
        return parts
    }

    private func draw(_ line: (name: String, points: [(x: Double, y: Double)]), _ colour: String) -> String {
        let path = line.points.map { "\(self.position(x: $0.x).plain),\(self.position(y: $0.y).plain)" }
        return
            #"<polyline points="\#(path.joined(separator: " "))" fill="none" stroke="\#(colour)" stroke-width="2"/>"#
    }

    private func legend() -> [String] {
        self.lines.enumerated().map { index, line in
            let colour = Self.colours[index % Self.colours.count]
            let y = Self.height - Self.bottom - 14 - Double(self.lines.count - 1 - index) * 18
            return #"<circle cx="\#((Self.left + 14).plain)" cy="\#((y - 4).plain)" r="4" fill="\#(colour)"/>"#
                + self.text(line.name, Self.left + 24, y)
        }
    }

    private func text(_ text: String, _ x: Double, _ y: Double, size: Int = 12, anchor: String = "start") -> String {
        let escaped = text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
        return
            #"<text x="\#(x.plain)" y="\#(y.plain)" font-size="\#(size)" text-anchor="\#(anchor)">\#(escaped)</text>"#
    }
}

extension Double {
    /// The number with at most one decimal digit. Coordinates need no more.
    fileprivate var plain: String {
        let tenths = Int((self * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}
