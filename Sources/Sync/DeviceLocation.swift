/// Where a container and this device's part of it are, and what the device is called: for people to read.
package struct DeviceLocation: Sendable {
    package var remote: String
    package var state: String
    /// Empty where nothing is mounted.
    package var mountpoint: String
    package var deviceName: String

    package init(remote: String, state: String, mountpoint: String, deviceName: String) {
        self.remote = remote
        self.state = state
        self.mountpoint = mountpoint
        self.deviceName = deviceName
    }
}
