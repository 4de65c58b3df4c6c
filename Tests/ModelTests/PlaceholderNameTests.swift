import Model
import Testing

@Suite struct PlaceholderNameTests {
    @Test func `a placeholder is named as in iCloud, and the backing file keeps the name of the item`() throws {
        #expect(PlaceholderName.placeholderName(of: try ItemName("lesson1.pdf")) == ".lesson1.pdf.icloud")
        #expect(PlaceholderName.backingName(of: try ItemName("lesson1.pdf")) == "lesson1.pdf")
    }

    @Test func `a placeholder name that would exceed 255 bytes is replaced with a short one`() throws {
        let fits = try ItemName(String(repeating: "n", count: 247))
        let over = try ItemName(String(repeating: "n", count: 248))
        #expect(PlaceholderName.placeholderName(of: fits).utf8.count == 255)
        #expect(PlaceholderName.placeholderName(of: over).utf8.count == 49)
        #expect(PlaceholderName.backingName(of: over) == over.string)
    }

    @Test(arguments: [".x.icloud", ".dewpoint-1"])
    func `an item with a reserved name is stored under another name, local or not`(_ text: String) throws {
        let name = try ItemName(text)
        #expect(PlaceholderName.backingName(of: name) != text)
        #expect(PlaceholderName.placeholderName(of: name) != text)
        #expect(PlaceholderName.backingName(of: name) != PlaceholderName.placeholderName(of: name))
    }

    @Test func `long names that differ in one byte get different placeholder names`() throws {
        let one = try ItemName(String(repeating: "n", count: 254) + "a")
        let other = try ItemName(String(repeating: "n", count: 254) + "b")
        #expect(PlaceholderName.placeholderName(of: one) != PlaceholderName.placeholderName(of: other))
    }

    @Test(arguments: [".icloud", "x.icloud", ".x", "..icloud2"])
    func `a placeholder name consists of a dot, a name and the suffix .icloud`(_ text: String) {
        #expect(!PlaceholderName.looksLikePlaceholder(text))
    }
}
