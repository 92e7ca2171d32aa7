import Foundation
#if canImport(FoundationXML)
    import FoundationXML
#endif
import Testing

@testable import mailboat_bench

struct LinePlotTests {
    @Test func thePlotIsXMLWithALine() {
        var plot = LinePlot(title: "a < b & c", xTitle: "x", yTitle: "y")
        plot.add("line", (0..<100).map { (Double($0) / 2, 5) })
        #expect(XMLParser(data: Data(plot.svg.utf8)).parse())
        // The only circle is the one in the legend.
        #expect(plot.svg.ranges(of: "<circle").count == 1)
        #expect(plot.svg.ranges(of: "<polyline").count == 1)
        #expect(plot.svg.contains("a &lt; b &amp; c"))
    }

    @Test(arguments: [(0, 1), (7, 8), (8, 8), (0.9, 1), (131_000, 150_000), (11, 15)] as [(Double, Double)])
    func theAxisEndsAtARoundNumber(highest: Double, end: Double) {
        #expect(abs(LinePlot.ceiling(highest) - end) < 1e-6)
    }
}
