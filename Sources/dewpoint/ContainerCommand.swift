import ArgumentParser

struct ContainerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "container", abstract: "Makes containers.", subcommands: [ContainerCreateCommand.self])
}
