import ArgumentParser

struct ContainerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "container", abstract: "Makes containers, and clears them up.",
        subcommands: [ContainerCreateCommand.self, ContainerGarbageCommand.self])
}
