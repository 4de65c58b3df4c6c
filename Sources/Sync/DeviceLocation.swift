/// The location of a container and of this device's state, and the name of the device: for people to read.
package struct DeviceLocation: Sendable {
    package var remote: String
    package var state: String
    /// Empty when nothing is mounted.
    package var mountpoint: String
    package var deviceName: String

    package init(remote: String, state: String, mountpoint: String, deviceName: String) {
        self.remote = remote
        self.state = state
        self.mountpoint = mountpoint
        self.deviceName = deviceName
    }
}
