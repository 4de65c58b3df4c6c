import ArgumentParser

struct ContainerCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "container",
        abstract: "Creates and copies containers, sets their quota, imports and exports trees, and collects garbage.",
        subcommands: [
            ContainerCreateCommand.self, ContainerImportCommand.self, ContainerExportCommand.self,
            ContainerAdoptCommand.self, ContainerCopyCommand.self, ContainerQuotaCommand.self,
            ContainerGarbageCommand.self,
        ])
}
