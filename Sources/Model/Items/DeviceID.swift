package import Foundation

/// The identity of one replica. Ordered, so that every device breaks a tie the same way.
package struct DeviceID: Hashable, Comparable, Sendable, Codable, CustomStringConvertible {
    /// A lower-case UUID.
    package let description: String

    package init(uuid: UUID) { description = uuid.uuidString.lowercased() }

    /// - Returns: `nil` when the text is not a UUID.
    package init?(_ text: String) {
        guard let uuid = UUID(uuidString: text) else { return nil }
        self.init(uuid: uuid)
    }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        let text = try container.decode(String.self)
        guard let id = DeviceID(text) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a device identifier: \(text)")
        }
        self = id
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }

    package static func < (left: DeviceID, right: DeviceID) -> Bool {
        left.description.utf8.lexicographicallyPrecedes(right.description.utf8)
    }
}
