import Foundation

/// A line plot as SVG, without help: axes from zero (or logarithmic to the right), a point for each value, the value beside it. With many values (`isDense`) only
/// the line, and round numbers below it.
struct LinePlot {
    var title: String
    var xTitle: String
    var yTitle: String
    var isXLogarithmic = false
    var isDense = false
    private var lines: [(name: String, points: [(x: Double, y: Double)])] = []

    private static let (width, height) = (640.0, 360.0)
    private static let (left, right, top, bottom) = (84.0, 24.0, 48.0, 60.0)
    private static let colours = ["#1f6feb", "#d1242f", "#1a7f37"]

    init(title: String, xTitle: String, yTitle: String, isXLogarithmic: Bool = false, isDense: Bool = false) {
        self.title = title
        self.xTitle = xTitle
        self.yTitle = yTitle
        self.isXLogarithmic = isXLogarithmic
        self.isDense = isDense
    }

    /// Points from left to right.
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
            parts += self.draw(line, Self.colours[index % Self.colours.count])
        }
        parts += self.legend()
        return (parts + ["</svg>", ""]).joined(separator: "\n")
    }

    // MARK: Scales

    private var xs: [Double] {
        let values = Set(self.lines.flatMap { $0.points.map(\.x) })
        guard self.isDense, let highest = values.max() else { return values.sorted() }
        return (0...6).map { Self.ceiling(highest) * Double($0) / 6 }
    }

    /// A round number at or above the highest value.
    static func ceiling(_ value: Double) -> Double {
        guard value > 0, value.isFinite else { return 1 }
        let power = pow(10, value.logarithm.rounded(.down))
        for step in [1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10] where step * power >= value { return step * power }
        return 10 * power
    }

    private var yMax: Double { Self.ceiling(self.lines.flatMap { $0.points.map(\.y) }.max() ?? 0) }

    private func place(x: Double) -> Double {
        let scaled = { (value: Double) in self.isXLogarithmic ? max(value, 1).logarithm : value }
        let (low, high) = (scaled(self.xs.first ?? 0), scaled(self.xs.last ?? 1))
        let share = high > low ? (scaled(x) - low) / (high - low) : 0.5
        return Self.left + share * (Self.width - Self.left - Self.right - 40)
    }

    private func place(y: Double) -> Double {
        Self.height - Self.bottom - y / self.yMax * (Self.height - Self.top - Self.bottom)
    }

    // MARK: Parts

    private func grid() -> [String] {
        var parts: [String] = []
        for step in 0...4 {
            let value = self.yMax * Double(step) / 4
            let y = self.place(y: value)
            parts.append(
                #"<line x1="\#(Self.left.plain)" y1="\#(y.plain)" x2="\#((Self.width - Self.right).plain)" y2="\#(y.plain)" "#
                    + #"stroke="lightgray"/>"#)
            parts.append(self.text(value.short, Self.left - 8, y + 4, anchor: "end"))
        }
        for x in self.xs {
            parts.append(self.text(x.short, self.place(x: x), Self.height - Self.bottom + 18, anchor: "middle"))
        }
        return parts
    }

    private func draw(_ line: (name: String, points: [(x: Double, y: Double)]), _ colour: String) -> [String] {
        let places = line.points.map { (x: self.place(x: $0.x), y: self.place(y: $0.y)) }
        let path = places.map { "\($0.x.plain),\($0.y.plain)" }.joined(separator: " ")
        var parts = [#"<polyline points="\#(path)" fill="none" stroke="\#(colour)" stroke-width="2"/>"#]
        guard !self.isDense else { return parts }
        for (place, point) in zip(places, line.points) {
            parts.append(#"<circle cx="\#(place.x.plain)" cy="\#(place.y.plain)" r="4" fill="\#(colour)"/>"#)
            parts.append(self.text(point.y.short, place.x + 6, place.y - 8))
        }
        return parts
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
    fileprivate var logarithm: Double { log10(self) }
    /// With one digit at most, as coordinates need.
    fileprivate var plain: String {
        let tenths = Int((self * 10).rounded())
        return tenths % 10 == 0 ? "\(tenths / 10)" : "\(tenths / 10).\(abs(tenths % 10))"
    }
}
