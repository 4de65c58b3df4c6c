package import Foundation
package import Model

/// The object `shares/UUID.json`: describes the shared file whose bytes are `shares/UUID`.
package struct ShareRecord: Hashable, Sendable, Codable {
    package let id: UUID
    /// Where the file was, below the container's root.
    package let path: String
    /// The length of the file in bytes.
    package let byteCount: Int64
    package let created: Timestamp
    /// When the link ends.
    package let expires: Timestamp
    package let device: DeviceID
    /// For people.
    package let deviceName: String

    package init(
        id: UUID, path: String, byteCount: Int64, created: Timestamp, expires: Timestamp, device: DeviceID,
        deviceName: String
    ) {
        self.id = id
        self.path = path
        self.byteCount = byteCount
        self.created = created
        self.expires = expires
        self.device = device
        self.deviceName = deviceName
    }

    /// The name of the file alone.
    package var fileName: String { ItemPath(path).last.map(String.init) ?? path }
}
