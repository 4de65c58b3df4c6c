package import Model

/// The rules of `-o rules=DIRECTORY:RULE=VALUE:…`, in which colons and commas have a meaning of their own.
package enum RulesOption {
    /// The option for the rules of a directory, which ``DaemonOptions`` reads back as they were.
    package static func text(_ rules: PathRules) -> String {
        let limits = DirectoryRule.allCases.compactMap { rule in
            rules.limits[rule].map { "\(rule.rawValue)=\(rule.text($0))" }
        }
        return "rules=" + OptionList.text([rules.path] + limits)
    }

    /// - Throws: A sentence for what is no rule.
    static func rules(_ value: String) throws(DaemonOptions.Problem) -> [PathRules] {
        let parts = OptionList.parts(of: value, at: ":").map(OptionList.plain)
        guard let path = parts.first, parts.count > 1 else {
            throw DaemonOptions.Problem(
                description: "rules is a directory and its rules, as in rules=Pictures/raw:evict_after=7d, not \(value)"
            )
        }
        var limits: [DirectoryRule: DirectoryRule.Limit] = [:]
        do throws(FileError) {
            for part in parts.dropFirst() {
                let (name, text) = halves(of: part)
                let rule = try rule(named: name)
                limits[rule] = try rule.limit(text)
            }
            return [try PathRules(path: path, limits: limits)]
        } catch {
            throw DaemonOptions.Problem(description: error.detail)
        }
    }

    /// - Throws: ``FileError`` with a sentence for an unknown name.
    package static func rule(named name: String) throws(FileError) -> DirectoryRule {
        if let rule = DirectoryRule.allCases.first(where: { $0.rawValue.utf8.elementsEqual(name.utf8) }) { return rule }
        let names = DirectoryRule.allCases.map(\.rawValue)
        let hint =
            Spelling.nearest(to: name, among: names).map { "did you mean \($0)?" }
            ?? "the rules are \(names.joined(separator: ", "))"
        throw FileError(.invalid, "there is no rule \(name.printable) for a directory; \(hint)")
    }

    /// Of two rules for one directory, the later one applies.
    static func joining(_ earlier: [PathRules], _ later: [PathRules]) -> [PathRules] {
        var rules = earlier
        for new in later {
            if let index = rules.firstIndex(where: { $0.names == new.names }) {
                rules[index].limits.merge(new.limits) { $1 }
            } else {
                rules.append(new)
            }
        }
        return rules
    }

    private static func halves(of part: String) -> (String, String) {
        let halves = part.splitBytes(at: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
        return (String(halves[0]), halves.count > 1 ? String(halves[1]) : "")
    }
}
