import Model
import Testing

@Suite struct PlaceholderNameTests {
    @Test func `a placeholder has the name that iCloud gives it`() throws {
        #expect(PlaceholderName.placeholderName(of: try ItemName("lesson1.pdf")) == ".lesson1.pdf.icloud")
        #expect(PlaceholderName.backingName(of: try ItemName("lesson1.pdf")) == "lesson1.pdf")
    }

    @Test func `the longest name that fits keeps its own and one byte more gets another`() throws {
        let fits = try ItemName(String(repeating: "n", count: 247))
        let over = try ItemName(String(repeating: "n", count: 248))
        #expect(PlaceholderName.placeholderName(of: fits).utf8.count == 255)
        #expect(PlaceholderName.placeholderName(of: over).utf8.count == 49)
        #expect(PlaceholderName.backingName(of: over) == over.string)
    }

    @Test(arguments: [".x.icloud", ".dewpoint-1"])
    func `a name that looks like ours stands under another, here or not`(_ text: String) throws {
        let name = try ItemName(text)
        #expect(PlaceholderName.backingName(of: name) != text)
        #expect(PlaceholderName.placeholderName(of: name) != text)
        #expect(PlaceholderName.backingName(of: name) != PlaceholderName.placeholderName(of: name))
    }

    @Test func `names that differ in one byte get different ones`() throws {
        let one = try ItemName(String(repeating: "n", count: 254) + "a")
        let other = try ItemName(String(repeating: "n", count: 254) + "b")
        #expect(PlaceholderName.placeholderName(of: one) != PlaceholderName.placeholderName(of: other))
    }

    @Test(arguments: [".icloud", "x.icloud", ".x", "..icloud2"])
    func `only a dot, a name and the ending make a placeholder's name`(_ text: String) {
        #expect(!PlaceholderName.looksLikePlaceholder(text))
    }
}
