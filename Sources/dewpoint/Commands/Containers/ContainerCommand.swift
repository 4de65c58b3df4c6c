import ArgumentParser

struct ContainerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "container", abstract: "Makes containers, moves trees in and out of them, and clears them up.",
        subcommands: [
            ContainerCreateCommand.self, ContainerImportCommand.self, ContainerExportCommand.self,
            ContainerAdoptCommand.self, ContainerGarbageCommand.self,
        ])
}
