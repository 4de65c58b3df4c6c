import Daemon
import Model
import NamedMounts

/// A named mount as the commands print it with `--json`.
struct ListedMount: Encodable, Equatable {
    let name: String
    let mounted: Bool
    /// Whether it is mounted and refuses changes.
    let readOnly: Bool
    let url: String
    /// Absolute.
    let mountpoint: String
    let autostart: Bool
    let endpoint: String?
    let region: String?
    let deviceName: String?
    /// `nil` for the default place.
    let state: String?
    let options: [String]
    let ignore: [String]
    /// As they are given with `-o`.
    let rules: [String]

    init(_ mount: NamedMount, _ surroundings: MountSurroundings) {
        name = mount.name.description
        mounted = surroundings.isMounted(mount)
        readOnly = mounted && surroundings.isReadOnly(mount)
        url = mount.url
        mountpoint = surroundings.mountpoint(of: mount)
        autostart = mount.autostart
        endpoint = mount.endpoint
        region = mount.region
        deviceName = mount.deviceName
        state = surroundings.state(of: mount)
        options = mount.options
        ignore = mount.ignore
        rules = mount.rules.map(RulesOption.text)
    }
}
