import ArgumentParser
import Daemon
import Foundation
import Linux
import Model

struct KeyEnrolCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "enrol", abstract: "Asks a device that is enrolled to enrol this one, without the passphrase.",
        discussion: """
            Prints a code, and waits until it is entered on a device that is enrolled, with dewpoint key accept. Then this device can \
            mount the container. Nobody else is to see the code: it is good for 15 minutes.
            """)

    @OptionGroup var place: KeyPlace

    @Option(
        help: ArgumentHelp(
            "The state directory of this device. (default: $XDG_STATE_HOME/dewpoint/ID)", valueName: "dir"),
        completion: .directory)
    var state: String?

    @Option(help: "The device name that other devices see. (default: the host name)")
    var deviceName: String?

    /// How long the store may take when the request is taken back: 5 s.
    private static let cancelLimit = 5.0

    func run() async throws {
        CoreDumps.forbid()
        let name = deviceName ?? MountPlan.hostName()
        let (location, known) = try await place.resolved()
        let given = try state.map { try StateDirectory(given: $0, resolved: try MountedPath.absolute($0)) }
        let request = try await EnrolmentWait(at: location, state: given ?? known, deviceName: name)
        print("enter this on a device that is enrolled, within 15 minutes:\n")
        print("    dewpoint key accept MOUNTPOINT \(request.code)\n")
        fflush(nil)
        let cleanup = SignalCleanup {
            let done = DispatchSemaphore(value: 0)
            Task.detached {
                await request.cancel()
                done.signal()
            }
            _ = done.wait(timeout: .now() + Self.cancelLimit)
        }
        defer { cleanup.end() }
        let place = try await request.wait()
        print("this device is enrolled; its state is \(place.path)")
    }
}
