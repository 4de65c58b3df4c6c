package import Foundation

/// The identity of an item in the container: it is kept by rename, move, edit and atomic save.
///
/// Written as a lower-case UUID.
package struct ItemID: Hashable, Sendable {
    package let uuid: UUID

    package init(uuid: UUID) { self.uuid = uuid }

    /// The container's root directory, which has no record of its own.
    package static let root = ItemID(uuid: UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)))
}

extension ItemID: LosslessStringConvertible, Codable {
    package init?(_ description: String) {
        guard let uuid = UUID(uuidString: description) else { return nil }
        self.init(uuid: uuid)
    }

    package var description: String { uuid.uuidString.lowercased() }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = ItemID(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not an item identifier: \(text)")
        }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
