/// The header `Content-Disposition`, by which a server names the file that it sends. Source: RFC 6266.
enum ContentDisposition {
    /// To be saved under this name.
    ///
    ///     attachment; filename="_bersicht_.pdf"; filename*=UTF-8''%C3%9Cbersicht%22.pdf
    ///
    /// The first name is for programs that do not know the second.
    static func attachment(_ fileName: String) -> String {
        let plain = String(fileName.unicodeScalars.map { isPlain($0) ? Character($0) : "_" })
        return "attachment; filename=\"\(plain)\"; filename*=UTF-8''\(PercentEncoding.encode(fileName))"
    }

    private static func isPlain(_ scalar: Unicode.Scalar) -> Bool {
        scalar.isASCII && (0x20..<0x7f) ~= scalar.value && !"\"\\%".unicodeScalars.contains(scalar)
    }
}
