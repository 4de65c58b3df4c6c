/// A host and a port for hints: `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`.
package struct HintAddress: Hashable, Sendable {
    /// Where a device takes hints unless told otherwise (`hint_port`).
    package static let port = 28_771

    package let host: String
    package let port: Int

    /// - Returns: `nil` for a text of another form.
    package init?(_ text: String) {
        var rest = Substring(text)
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            host = String(text[text.index(after: text.startIndex)..<end])
            rest = text[text.index(after: end)...]
        } else {
            let end = text.firstIndex(of: ":") ?? text.endIndex
            host = String(text[..<end])
            rest = text[end...]
        }
        let isName = host.utf8.allSatisfy { byte in
            byte > 0x20 && byte < 0x7f && !"/@[]\\\"'".utf8.contains(byte)
        }
        guard !host.isEmpty, isName, host.utf8.count <= 253 else { return nil }
        if rest.isEmpty {
            port = Self.port
        } else {
            let digits = rest.dropFirst()
            guard rest.utf8.first == UInt8(ascii: ":"), digits.utf8.first != UInt8(ascii: "+"),
                let port = UInt16(digits), port > 0
            else { return nil }
            self.port = Int(port)
        }
    }
}
