extension String {
    /// The text as it may be shown on a terminal: what comes from names, programs and other devices must neither move the cursor nor give
    /// orders to the terminal, nor look like other text.
    ///
    /// Control characters (also C1, tabs and line ends), separators of lines and paragraphs, and formatting characters such as those that
    /// turn the direction of writing are written as `\u{1B}`. Joiners stay, which some scripts and many symbols are made with.
    package var printable: String {
        guard unicodeScalars.contains(where: { !$0.isPrintable }) else { return self }
        return unicodeScalars.map { $0.isPrintable ? String($0) : $0.escaped(asASCII: true) }.joined()
    }

    /// A JSON text that means the same and may be shown on a terminal: ``printable`` with the escapes of JSON. Line ends between values stay.
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
