import ArgumentParser

struct ContainerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "container", abstract: "Creates containers, imports and exports trees, and collects garbage.",
        subcommands: [
            ContainerCreateCommand.self, ContainerImportCommand.self, ContainerExportCommand.self,
            ContainerAdoptCommand.self, ContainerGarbageCommand.self,
        ])
}
