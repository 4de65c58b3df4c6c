extension String {
    /// The text in a form that is safe on a terminal: text from names, programs and other devices must neither move the
    /// cursor nor control the terminal, nor look like other text.
    ///
    /// Control characters (also C1, tabs and line ends), separators of lines and paragraphs, and formatting characters
    /// such as those that change the direction of writing are written as `\u{1B}`. Joiners are kept, since some scripts
    /// and many symbols need them.
    package var printable: String {
        guard unicodeScalars.contains(where: { !$0.isPrintable }) else { return self }
        return unicodeScalars.map { $0.isPrintable ? String($0) : $0.escaped(asASCII: true) }.joined()
    }

    /// An equivalent JSON text that is safe on a terminal: ``printable`` with the escapes of JSON. Line ends between
    /// values are kept.
    package var printableJSON: String {
        guard unicodeScalars.contains(where: { !$0.isPrintable && $0 != "\n" }) else { return self }
        return unicodeScalars.map { scalar in
            guard !scalar.isPrintable, scalar != "\n" else { return String(scalar) }
            return String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }.joined()
    }
}

extension Unicode.Scalar {
    /// See ``Swift/String/printable``.
    fileprivate var isPrintable: Bool {
        if isASCII { return value >= 0x20 && value != 0x7f }
        return switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .unassigned, .privateUse, .surrogate: false
        // Zero-width non-joiner and joiner.
        case .format: value == 0x200c || value == 0x200d
        default: true
        }
    }
}
