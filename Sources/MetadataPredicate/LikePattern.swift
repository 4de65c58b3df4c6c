/// The pattern of `LIKE`: `*` stands for any characters, `?` for one, and a backslash before a character for itself.
struct LikePattern {
    private enum Part: Equatable {
        case anyRun
        case anyCharacter
        case character(Character)
    }

    private var parts: [Part] = []

    init(_ text: String) {
        var isEscaped = false
        for character in text {
            switch character {
            case _ where isEscaped:
                parts.append(.character(character))
                isEscaped = false
            case "\\": isEscaped = true
            case "*": if parts.last != .anyRun { parts.append(.anyRun) }
            case "?": parts.append(.anyCharacter)
            default: parts.append(.character(character))
            }
        }
        if isEscaped { parts.append(.character("\\")) }
    }

    /// Takes at most the product of both lengths: on a mismatch, only the last `*` is tried again.
    func matches(_ text: String) -> Bool {
        let text = Array(text)
        var position = 0
        var part = 0
        var retry: (part: Int, position: Int)?
        while position < text.count {
            if part < parts.count, parts[part] == .anyRun {
                part += 1
                retry = (part, position)
            } else if part < parts.count, parts[part] == .anyCharacter || parts[part] == .character(text[position]) {
                part += 1
                position += 1
            } else if let last = retry {
                part = last.part
                position = last.position + 1
                retry = (part, position)
            } else {
                return false
            }
        }
        return parts[part...].allSatisfy { $0 == .anyRun }
    }
}
