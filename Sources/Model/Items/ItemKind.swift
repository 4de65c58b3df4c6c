/// The kind of an entry. The first three are synced; the others stay on the machine where they were created.
package enum ItemKind: String, Sendable, Codable, CaseIterable {
    case file
    case directory
    case symbolicLink
    case fifo
    case socket
    case characterDevice
    case blockDevice

    /// Whether items of this kind reach the container.
    package var isSynced: Bool {
        switch self {
        case .file, .directory, .symbolicLink: true
        case .fifo, .socket, .characterDevice, .blockDevice: false
        }
    }
}
