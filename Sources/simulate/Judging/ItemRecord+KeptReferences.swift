import Foundation
import Model

extension ItemRecord {
    /// The contents that the record keeps besides its own: the losers of conflicts.
    ///
    /// They are read from the record's encoded form, from the member `conflicts`, whatever its format.
    var keptReferences: [Reference] {
        get throws {
            let members = try JSONSerialization.jsonObject(with: JSONEncoder().encode(self)) as? [String: Any]
            return try members?["conflicts"].map { try Self.references(in: $0) } ?? []
        }
    }

    private static func references(in value: Any) throws -> [Reference] {
        if let values = value as? [Any] { return try values.flatMap { try references(in: $0) } }
        guard let members = value as? [String: Any] else { return [] }
        if members["runs"] != nil || members["manifest"] != nil {
            return [try JSONDecoder().decode(Reference.self, from: JSONSerialization.data(withJSONObject: members))]
        }
        return try members.sorted { $0.key < $1.key }.flatMap { try references(in: $0.value) }
    }
}
