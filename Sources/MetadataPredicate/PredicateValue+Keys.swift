import Foundation

extension PredicateValue {
    /// The value at the end of a key path.
    func value(at steps: ArraySlice<KeyStep>) -> PredicateValue {
        guard let step = steps.first else { return self }
        let rest = steps.dropFirst()
        switch step {
        case .key(let key): return value(forKey: key).value(at: rest)
        case .collection(let operation):
            guard case .list(let members) = self else { return .missing }
            return Self.aggregate(operation, members.map { $0.value(at: rest) })
        }
    }

    /// The value of one key. A list has the values of its members.
    func value(forKey key: String) -> PredicateValue {
        if key == "self" { return self }
        switch self {
        case .string(let text): return Self.value(forKey: key, of: text)
        case .url(let url): return Self.value(forKey: key, of: url)
        case .dictionary(let values): return values[key] ?? .missing
        case .list(let members): return .list(members.map { $0.value(forKey: key) })
        case .missing, .integer, .real, .date, .other: return .missing
        }
    }

    private static func value(forKey key: String, of text: String) -> PredicateValue {
        switch key {
        case "length": .integer(Int64(text.utf16.count))
        case "lowercaseString": .string(text.lowercased())
        case "uppercaseString": .string(text.uppercased())
        case "capitalizedString": .string(text.capitalized)
        case "pathExtension": .string((text as NSString).pathExtension)
        case "lastPathComponent": .string((text as NSString).lastPathComponent)
        case "stringByDeletingLastPathComponent": .string((text as NSString).deletingLastPathComponent)
        case "stringByDeletingPathExtension": .string((text as NSString).deletingPathExtension)
        case "pathComponents": .list((text as NSString).pathComponents.map { .string($0) })
        case "integerValue", "intValue", "longLongValue": .integer((text as NSString).longLongValue)
        case "doubleValue", "floatValue": .real((text as NSString).doubleValue)
        default: .missing
        }
    }

    private static func value(forKey key: String, of url: URL) -> PredicateValue {
        switch key {
        case "absoluteString": .string(url.absoluteString)
        case "path": .string(url.path)
        case "lastPathComponent": .string(url.lastPathComponent)
        case "pathExtension": .string(url.pathExtension)
        case "pathComponents": .list(url.pathComponents.map { .string($0) })
        case "scheme": url.scheme.map { .string($0) } ?? .missing
        case "host": url.host.map { .string($0) } ?? .missing
        default: .missing
        }
    }

    private static func aggregate(_ operation: KeyStep.Operator, _ values: [PredicateValue]) -> PredicateValue {
        let present = values.filter { !$0.isMissing }
        switch operation {
        case .count: return .integer(Int64(values.count))
        case .min: return present.min { $0.order(to: $1) == .orderedAscending } ?? .missing
        case .max: return present.max { $0.order(to: $1) == .orderedAscending } ?? .missing
        case .sum: return .real(present.reduce(0) { $0 + ($1.number ?? 0) })
        case .avg:
            let sum = present.reduce(0) { $0 + ($1.number ?? 0) }
            return present.isEmpty ? .missing : .real(sum / Double(present.count))
        }
    }

    var isMissing: Bool {
        guard case .missing = self else { return false }
        return true
    }

    var number: Double? {
        switch self {
        case .integer(let number): Double(number)
        case .real(let number): number
        default: nil
        }
    }
}
