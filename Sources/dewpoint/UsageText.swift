import ArgumentParser
import Model

/// Errors of the command line's form, each with the help of its own command.
enum UsageText {
    /// - Parameters:
    ///   - message: Of the argument parser.
    ///   - arguments: Without the name of the program.
    static func sentence(_ message: String, arguments: [String], root: any ParsableCommand.Type) -> String {
        var command = root
        var names = [String]()
        var unknown: String?
        for argument in arguments {
            let subcommands = command.configuration.subcommands
            guard !subcommands.isEmpty, !argument.hasPrefix("-") else { break }
            guard let next = subcommands.first(where: { name($0) == argument }) else {
                if command.configuration.defaultSubcommand == nil { unknown = argument }
                break
            }
            command = next
            names.append(argument)
        }
        let help = (["dewpoint help"] + names).joined(separator: " ")
        if let unknown {
            let known = command.configuration.subcommands.filter { $0.configuration.shouldDisplay }.map { name($0) }
            let guess = Spelling.nearest(toAbbreviation: unknown, among: known).map { "; did you mean \($0)?" } ?? ";"
            let place = names.isEmpty ? "there is no command" : "`\(names.joined(separator: " "))` has no command"
            return "\(place) \(unknown)\(guess) see: \(help)"
        }
        var text = message
        if text.hasSuffix(".") { text.removeLast() }
        return text.hasSuffix("?") ? "\(text) See: \(help)" : "\(text); see: \(help)"
    }

    private static func name(_ command: any ParsableCommand.Type) -> String { command._commandName }
}
