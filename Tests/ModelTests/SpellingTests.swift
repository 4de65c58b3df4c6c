import Testing

@testable import Model

@Suite struct SpellingTests {
    @Test(arguments: [("pin", "pin", 0), ("pni", "pin", 1), ("", "pin", 3), ("unpin", "pin", 2), ("sync", "sink", 2)])
    func `the distance of two words counts letters`(one: String, other: String, distance: Int) {
        #expect(Spelling.distance(Array(one), Array(other)) == distance)
        #expect(Spelling.distance(Array(other), Array(one)) == distance)
    }

    @Test func `an abbreviation of one word only is understood`() {
        #expect(Spelling.nearest(toAbbreviation: "conf", among: ["confirm", "container"]) == "confirm")
        #expect(Spelling.nearest(toAbbreviation: "con", among: ["confirm", "container"]) == nil)
        #expect(Spelling.nearest(toAbbreviation: "c", among: ["confirm"]) == nil)
    }
}
