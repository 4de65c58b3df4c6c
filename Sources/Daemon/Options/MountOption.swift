/// An option of `dewpoint mount -o`, declared once in ``all``. The parser, the command's help, the manual page and the
/// table of the page Operations derive from the declaration.
///
/// Its default is that of the property of ``DaemonOptions`` which it sets.
package struct MountOption: Sendable {
    typealias Problem = DaemonOptions.Problem
    typealias Setter = @Sendable (_ options: inout DaemonOptions, _ value: String?) throws(Problem) -> Void

    package let name: String
    /// What stands behind `=` in the documentation, such as `DURATION`; `nil` for an option without a value.
    let form: String?
    /// How the help of `mount` mentions it; `nil` if it does not.
    let usage: String?
    /// What the page Operations says about it; `nil` for one that shares the row of the option before it.
    let meaning: String?
    /// Whether it is one of mount(8), which the daemon does not interpret.
    let isSystemOption: Bool
    private let setter: Setter

    init(
        _ name: String, form: String?, usage: String?, _ meaning: String?, isSystemOption: Bool = false,
        setter: @escaping Setter
    ) {
        self.name = name
        self.form = form
        self.usage = usage
        self.meaning = meaning
        self.isSystemOption = isSystemOption
        self.setter = setter
    }

    /// - Returns: `nil` if there is no option of that name.
    static func named(_ name: String) -> MountOption? { all.first { $0.name == name } }

    func set(_ options: inout DaemonOptions, to value: String?) throws(Problem) {
        if form != nil, value == nil { throw Problem(description: "\(name) needs a value, as in \(name)=…") }
        if form == nil, value != nil { throw Problem(description: "\(name) takes no value") }
        try setter(&options, value)
    }

    /// The list of options in the help of `mount`.
    package static var usage: String { all.compactMap(\.usage).joined(separator: ", ") }

    /// All options in the form of a list of options.
    static var list: String { all.map { $0.form == nil ? $0.name : "\($0.name)=…" }.joined(separator: ", ") }

    /// The rows of the table in the page Operations: by name, those of mount(8) at the end.
    static var documentation: [[String]] {
        var rows: [(isLast: Bool, names: [String], meaning: String)] = []
        for option in all {
            let shown = "`" + option.name + (option.form.map { "=\($0)" } ?? "") + "`"
            if let meaning = option.meaning {
                rows.append((option.isSystemOption, [shown], meaning))
            } else {
                rows[rows.count - 1].names.append(shown)
            }
        }
        return rows.sorted { ($0.isLast ? 1 : 0, $0.names[0]) < ($1.isLast ? 1 : 0, $1.names[0]) }
            .map { [$0.names.joined(separator: ", "), $0.meaning] }
    }
}
