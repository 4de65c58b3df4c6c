/// A device that has committed changes to a container, or this one.
package struct KnownDevice: Hashable, Sendable, Codable {
    package var device: String
    /// The human name, as its newest commit has it.
    package var name: String
    package var isThisDevice: Bool

    package init(device: String, name: String, isThisDevice: Bool) {
        self.device = device
        self.name = name
        self.isThisDevice = isThisDevice
    }
}
