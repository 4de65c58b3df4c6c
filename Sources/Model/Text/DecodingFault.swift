/// What is wrong with a value in JSON, for people.
package enum DecodingFault {
    /// Foundation's sentence.
    private static let notJSON = "The given data was not valid JSON."

    /// The error of a value, in one line, with the path to it.
    package static func sentence(_ error: any Error) -> String {
        let context: DecodingError.Context
        switch error {
        // Foundation reports a number out of range as what is not JSON, if the value is nothing else.
        case DecodingError.dataCorrupted(let found) where found.codingPath.isEmpty:
            return found.debugDescription == notJSON
                ? "not JSON, or not a value of its type" : "not a value of its type: \(found.debugDescription)"
        case DecodingError.dataCorrupted(let found): context = found
        case DecodingError.keyNotFound(let name, let found): return "\(path(found.codingPath + [name])) is missing"
        case DecodingError.typeMismatch(_, let found): context = found
        case DecodingError.valueNotFound(_, let found): context = found
        // A number out of its type's range is reported as an error that Foundation does not export.
        default: return "not a value of its type: \(error)"
        }
        let path = path(context.codingPath)
        return path.isEmpty ? context.debugDescription : "\(path): \(context.debugDescription)"
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: ".")
    }
}
