import ArgumentParser
import Daemon
import Model
import Sealing

struct KeyAcceptCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "accept", abstract: "Enrols the device that shows a code.",
        discussion: "The code is shown on the new device by dewpoint key enrol, and is good for 15 minutes.")

    @OptionGroup var place: KeyPlace

    @Argument(help: "The code; case, spaces and hyphens do not matter.")
    var code: [String]

    @Flag(help: "The device may only read: its changes are refused by all others.")
    var reader = false

    func run() async throws {
        var keys = try await place.keys()
        let name = try await keys.accept(try parsed(), role: role)
        print("\(name.printable) is enrolled" + (reader ? ", and may only read" : ""))
    }

    private var role: Keyring.Role { reader ? .reader : .writer }

    private func parsed() throws(CommandFailure) -> RecoveryCode {
        guard let code = RecoveryCode(code.joined()) else {
            throw CommandFailure(.usage, "this is no code of dewpoint key enrol: a letter is wrong or missing")
        }
        return code
    }
}
