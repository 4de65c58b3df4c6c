import Glibc

/// The terminal that a command prints on, if it prints on one.
enum Terminal {
    /// The least width that text is fitted to, in columns: narrower terminals wrap lines.
    static let minimumWidth = 30

    /// The columns of the terminal behind a descriptor; `nil` when it is a file, a pipe or nothing.
    static func width(_ descriptor: Int32 = STDOUT_FILENO) -> Int? {
        guard isatty(descriptor) == 1 else { return nil }
        var size = winsize()
        // A terminal that does not tell its width, such as a serial line, has 80 columns.
        guard ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return 80 }
        return max(Int(size.ws_col), minimumWidth)
    }
}

extension String {
    /// The text with its middle left out where it is longer than `width`: of a path, the name at the end is what tells
    /// it from others.
    ///
    ///     Documents/Reports…ummary.pdf
    func shortened(to width: Int) -> String {
        guard count > width else { return self }
        guard width > 1 else { return String(prefix(max(width, 0))) }
        let end = width * 2 / 3
        return "\(prefix(width - 1 - end))…\(suffix(end))"
    }
}
