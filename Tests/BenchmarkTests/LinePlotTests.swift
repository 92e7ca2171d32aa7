import Foundation
#if canImport(FoundationXML)
    import FoundationXML
#endif
import Testing

@testable import mailboat_bench

struct LinePlotTests {
    @Test func thePlotIsXMLWithAPointForEachValue() {
        var plot = LinePlot(title: "a < b & c", xTitle: "x", yTitle: "y", isXLogarithmic: true)
        plot.add("line", [(1_000, 5), (1_000_000, 7.5)])
        let parser = XMLParser(data: Data(plot.svg.utf8))
        #expect(parser.parse())
        #expect(plot.svg.ranges(of: "<circle").count == 3)
        #expect(plot.svg.contains("a &lt; b &amp; c"))
    }

    @Test(arguments: [(0, 1), (7, 8), (8, 8), (0.9, 1), (131_000, 150_000), (11, 15)] as [(Double, Double)])
    func theAxisEndsAtARoundNumber(highest: Double, end: Double) {
        #expect(abs(LinePlot.ceiling(highest) - end) < 1e-6)
    }
}
