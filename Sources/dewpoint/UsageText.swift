import ArgumentParser

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
            let guess = nearest(to: unknown, among: known).map { "; did you mean \($0)?" } ?? ";"
            let place = names.isEmpty ? "there is no command" : "`\(names.joined(separator: " "))` has no command"
            return "\(place) \(unknown)\(guess) see: \(help)"
        }
        var text = message
        if text.hasSuffix(".") { text.removeLast() }
        return text.hasSuffix("?") ? "\(text) See: \(help)" : "\(text); see: \(help)"
    }

    private static func name(_ command: any ParsableCommand.Type) -> String { command._commandName }

    /// The word that is most likely meant; `nil` when none is close.
    static func nearest(to word: String, among words: [String]) -> String? {
        // Half of a word replaced is another word.
        let limit = max(1, word.count / 3)
        let found = words.map { (word: $0, distance: distance(word, $0)) }.min { $0.distance < $1.distance }
        if let found, found.distance <= limit { return found.word }
        // An abbreviation.
        let longer = words.filter { $0.hasPrefix(word) }
        return word.count > 1 && longer.count == 1 ? longer[0] : nil
    }

    /// How many letters must be added, removed, replaced or swapped with their neighbour. Source: Damerau–Levenshtein
    /// distance, optimal string alignment.
    static func distance(_ one: String, _ other: String) -> Int {
        let (one, other) = (Array(one), Array(other))
        var before: [Int] = []
        var last = Array(0...other.count)
        for i in 0..<one.count {
            var row = [i + 1]
            for j in 0..<other.count {
                var best = min(row[j] + 1, last[j + 1] + 1, last[j] + (one[i] == other[j] ? 0 : 1))
                if i > 0, j > 0, one[i] == other[j - 1], one[i - 1] == other[j] { best = min(best, before[j - 1] + 1) }
                row.append(best)
            }
            (before, last) = (last, row)
        }
        return last[other.count]
    }
}
