import Synchronization

/// The formats of the predicates that were parsed: Foundation's class has no place for them.
enum PredicateFormats {
    private struct Entry {
        weak var predicate: NSPredicate?
        let format: String
    }

    /// `@unchecked`: a predicate is only looked at by its identity.
    private struct Entries: @unchecked Sendable {
        var entries: [ObjectIdentifier: Entry] = [:]
        /// How many entries there may be before those of predicates that are gone are dropped.
        var limit = 64
    }

    private static let formats = Mutex(Entries())

    static func note(_ format: String, of predicate: NSPredicate) {
        let predicate = Carried(value: predicate)
        formats.withLock { state in
            if state.entries.count >= state.limit {
                state.entries = state.entries.filter { $0.value.predicate != nil }
                state.limit = max(64, state.entries.count * 2)
            }
            state.entries[ObjectIdentifier(predicate.value)] = Entry(predicate: predicate.value, format: format)
        }
    }

    static func format(of predicate: NSPredicate) -> String? {
        let predicate = Carried(value: predicate)
        return formats.withLock { state in
            guard let entry = state.entries[ObjectIdentifier(predicate.value)], entry.predicate === predicate.value
            else { return nil }
            return entry.format
        }
    }
}

extension NSPredicate {
    /// The format of a predicate that was parsed, with its arguments in their places. Differences from Apple's: for
    /// other predicates than parsed ones, and combinations of them, their description.
    public var predicateFormat: String {
        if let format = PredicateFormats.format(of: self) { return format }
        guard let compound = self as? NSCompoundPredicate else { return description }
        let parts = compound.subpredicates.map { part in
            part is NSCompoundPredicate ? "(\(part.predicateFormat))" : part.predicateFormat
        }
        return switch compound.compoundPredicateType {
        case .not: "NOT (\(parts.first ?? ""))"
        case .and: parts.isEmpty ? "TRUEPREDICATE" : parts.joined(separator: " AND ")
        case .or: parts.isEmpty ? "FALSEPREDICATE" : parts.joined(separator: " OR ")
        @unknown default: description
        }
    }
}
