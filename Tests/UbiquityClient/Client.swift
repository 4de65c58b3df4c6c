import Ubiquity

/// A program written for iCloud Documents: it imports Ubiquity and nothing else, and is built in Swift 6 and in Swift 5
/// mode. A test runs one scenario of it on mounted containers.
///
///     ubiquity-client SCENARIO MOUNT-A MOUNT-B DIRECTORY
///
/// It prints `ok` at the end, or why the scenario failed.
@main
struct Client {
    static func main() async {
        let arguments = CommandLine.arguments
        guard arguments.count == 5 else {
            print("usage: ubiquity-client SCENARIO A B DIRECTORY")
            exit(64)
        }
        do {
            try await run(arguments[1], Scenario(a: arguments[2], b: arguments[3], directory: arguments[4]))
            print("ok")
        } catch {
            print("\(arguments[1]): \(error)")
            exit(1)
        }
    }

    private static func run(_ name: String, _ scenario: Scenario) async throws {
        switch name {
        case "coordination": try await CoordinationScenarios.claims(scenario)
        case "presenters": try await CoordinationScenarios.presenters(scenario)
        case "move": try await CoordinationScenarios.caseOnlyRename(scenario)
        case "threads": try await CoordinationScenarios.threads(scenario)
        case "rate": try await CoordinationScenarios.rate(scenario)
        case "replacement": try await CoordinationScenarios.replacement(scenario)
        case "restart": try await CoordinationScenarios.restart(scenario)
        case "containers": try await FileScenarios.containers(scenario)
        case "downloads": try await FileScenarios.downloads(scenario)
        case "moves": try await FileScenarios.moves(scenario)
        case "conflicts": try await VersionScenarios.conflicts(scenario)
        case "resolved": try await VersionScenarios.resolved(scenario)
        case "documents": try await DocumentScenarios.documents(scenario)
        case "document-moves": try await DocumentScenarios.moves(scenario)
        case "main-queue": try await MainQueueScenarios.mainQueue(scenario)
        case "creations": try await CoordinationScenarios.creations(scenario)
        case "document-conflicts": try await DocumentScenarios.conflicts(scenario)
        case "queries": try await QueryScenarios.queries(scenario)
        case "samples": try await SampleScenarios.samples(scenario)
        case "presented-once": try await OnceScenarios.presented(scenario)
        case "queried-once": try await OnceScenarios.queried(scenario)
        case "transitions": try await QueryScenarios.transitions(scenario)
        case "many": try await QueryScenarios.many(scenario)
        case "handlers": try await PitfallScenarios.handlers(scenario)
        case "percentages": try await PitfallScenarios.percentages(scenario)
        case "restart-query": try await PitfallScenarios.restart(scenario)
        default: throw Scenario.Failure(description: "there is no such scenario")
        }
    }
}
