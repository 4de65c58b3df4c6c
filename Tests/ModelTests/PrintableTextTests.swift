import Model
import Testing

@Suite struct PrintableTextTests {
    @Test(arguments: [
        "plain, caf\u{e9} \u{5D0}\u{4E2D}", "\u{1F468}\u{200D}\u{1F469}", #"back\slash and "quotes""#,
    ])
    func `ordinary text is unchanged`(text: String) {
        #expect(text.printable == text)
        #expect(text.printableJSON == text)
    }

    @Test(arguments: [
        "\u{1b}", "\u{7f}", "\u{9b}", "\t", "\r", "\n", "\u{202e}", "\u{2066}", "\u{2069}", "\u{200f}", "\u{61c}",
        "\u{2028}", "\u{feff}",
        "\u{e0041}",
    ])
    func `characters that a terminal would interpret or hide are escaped`(text: String) {
        let shown = "a\(text)b".printable
        #expect(shown.hasPrefix(#"a\"#) && shown.hasSuffix("b"))
        #expect(shown.utf8.allSatisfy { 0x20..<0x7f ~= $0 })
        #expect(shown.printable == shown)
    }

    @Test func `the escapes use Swift syntax`() { #expect("\u{1b}[2J\n".printable == #"\u{1B}[2J\n"#) }

    @Test func `escaped JSON keeps its meaning and its line breaks`() {
        #expect("{\n\"x\u{9b}\u{202e}\u{e0041}\"}".printableJSON == "{\n\"x\\u009b\\u202e\\udb40\\udc41\"}")
    }
}
