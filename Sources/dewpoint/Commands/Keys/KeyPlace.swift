import ArgumentParser
import ControlAPI
import Daemon
import Foundation
import Linux
import Model
import NamedMounts

/// The encrypted container of a `key` command.
struct KeyPlace: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "The container: its URL, its mountpoint, or the name of a mount.", valueName: "url-or-mount"),
        completion: MountCompletion.names)
    var container: String

    @OptionGroup var bucket: BucketOptions
    @OptionGroup var passphrase: PassphraseOptions

    /// Opens the keyring with the keys of this device, or else asks for the passphrase.
    func keys() async throws -> ContainerKeys {
        CoreDumps.forbid()
        let (location, state) = try await resolved()
        return try await ContainerKeys(at: location, state: state, unlocking: passphrase.unlocking)
    }

    /// The location, and the state of this device if there is one.
    func resolved() async throws -> (ContainerLocation, StateDirectory?) {
        let variables = ProcessInfo.processInfo.environment
        if MountedPath.isContainerURL(container) {
            let location = try ContainerLocation(url: container, endpoint: bucket.endpoint, region: bucket.region)
                .resolved(state: nil, variables: variables)
            return (location, StateDirectory.known(location, environment: variables))
        }
        if MountName(valid: container) != nil,
            MountTable.current().mount(at: try MountedPath.absolute(container)) == nil
        {
            let surroundings = MountSurroundings.current()
            let mount = try NamedMountLookup.mount(container)
            let given = mount.state.map { StateDirectory(path: surroundings.absolute($0)) }
            let location = try ContainerLocation(
                url: mount.url, endpoint: bucket.endpoint ?? mount.endpoint, region: bucket.region ?? mount.region
            ).resolved(state: given, variables: variables)
            return (location, given ?? StateDirectory.known(location, environment: variables))
        }
        let status = try await MountedPath.mountpoint(container).send(ContainerStatusRequest())
        let state = StateDirectory(path: status.state)
        return (try state.location(), state)
    }
}
