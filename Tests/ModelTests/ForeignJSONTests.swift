import Foundation
import Model
import Testing

/// What Foundation's decoder does with brackets that stay open, it must never be asked.
@Suite struct ForeignJSONTests {
    private struct Numbered: Decodable, Equatable { var a: Int }

    @Test(arguments: [499, 500, 501, 511, 512, 513, 514, 100_000])
    func `no depth of nesting ends the process, whether the text is whole or cut`(_ depth: Int) {
        for (open, close) in [("[", "]"), (#"{"b":"#, "}")] {
            let opened = String(repeating: open, count: depth)
            for text in [
                opened, opened + String(repeating: close, count: depth), #"{"a":1,"b":"# + opened, " " + opened + " ",
            ] {
                #expect(throws: DecodingError.self) { try ForeignJSON.decode(Numbered.self, from: Data(text.utf8)) }
            }
        }
    }

    @Test func `what is nested less deep is decoded, and brackets in strings do not count`() throws {
        let deep = String(repeating: "[", count: 499) + String(repeating: "]", count: 499)
        let quoted = #""\"\\"# + String(repeating: "[{", count: 1000) + #"""#
        let text = #"{"a":1,"b":\#(deep),"c":\#(quoted),"\#(String(repeating: "[", count: 600))":0}"#
        #expect(try ForeignJSON.decode(Numbered.self, from: Data(text.utf8)) == Numbered(a: 1))
    }

    @Test(arguments: [String.Encoding.utf16, .utf16LittleEndian, .utf16BigEndian, .utf32])
    func `brackets cannot be hidden by another encoding`(_ encoding: String.Encoding) throws {
        // A byte of this character is that of a quote.
        let hidden = "{\"a\":1,\"\u{2200}\":" + String(repeating: "[", count: 512)
        let text = try #require(hidden.data(using: encoding))
        #expect(throws: DecodingError.self) { try ForeignJSON.decode(Numbered.self, from: text) }
    }

    @Test func `the message says what is wrong`() throws {
        let text = Data(String(repeating: "[", count: 513).utf8)
        let error = #expect(throws: DecodingError.self) { try ForeignJSON.decode(Numbered.self, from: text) }
        guard case .dataCorrupted(let context)? = error else {
            return #expect(Bool(false), "\(String(describing: error))")
        }
        #expect(context.debugDescription == "nested deeper than 500")
    }
}
