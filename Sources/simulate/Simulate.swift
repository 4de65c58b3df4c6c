import ArgumentParser
import Foundation
import Glibc

/// Runs simulations; see ``Simulation``.
@main
struct Simulate: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "simulate",
        abstract: "Runs devices on a store that fails, by seed, and checks that nothing is lost.",
        discussion: "Exit status: 0 every seed passed, 1 one did not.")

    @Argument(help: "The number of seeds.")
    var count = 100

    @Option(help: "The first seed; by default a random one.")
    var first: UInt64?

    @Option(help: "Run this seed only.")
    var seed: UInt64?

    @Option(help: "The number of processes.")
    var jobs = 1

    @Flag(help: "Print every event, line by line.")
    var trace = false

    @Flag(help: "Print the fingerprint of each run, which is reproducible.")
    var fingerprints = false

    @Option(help: "Break something deliberately: \(Sabotage.allCases.map(\.rawValue).joined(separator: ", ")).")
    var sabotage: Sabotage?

    @Flag(help: "Have two or three programs work on each device at the same time.")
    var writers = false

    @Flag(help: "Have programs claim items, and present them.")
    var claims = false

    @Flag(help: "Let weeks pass between phases, with snapshots, garbage collection and absent devices.")
    var weeks = false

    @Flag(help: "Run each seed twice: changes and deletions meet, in either order of their commits, with one outcome.")
    var orders = false

    func run() throws {
        Self.fixHashing()
        let first = seed ?? first ?? Scenario.firstFreshSeed + UInt64.random(in: 0..<1_000_000_000)
        let seeds = first..<first + UInt64(seed == nil ? count : 1)
        print("seeds \(seeds.lowerBound) to \(seeds.upperBound - 1)")
        let failed =
            jobs > 1 ? try SeedRange(seeds).run(inProcesses: jobs, arguments: options.arguments) : run(seeds)
        guard failed.isEmpty else {
            print("\(failed.count) of \(seeds.count) seeds failed: \(failed.map(String.init).joined(separator: " "))")
            throw ExitCode.failure
        }
        print("\(seeds.count) seeds passed")
    }

    private var options: ScenarioOptions {
        ScenarioOptions(
            passesWeeks: weeks, hasSeveralPrograms: writers, hasClaims: claims, comparesOrders: orders)
    }

    private func run(_ seeds: Range<UInt64>) -> [UInt64] {
        let directory = "\(Self.scratch)/dewpoint-simulation-\(getpid())"
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var failed: [UInt64] = []
        for (index, seed) in seeds.enumerated() {
            let makeWorld = {
                World(
                    seed: seed, directory: "\(directory)/\(seed)", sabotage: sabotage, options: options,
                    isTraced: trace)
            }
            let (world, outcome) = orders ? OrderCheck.run(makeWorld) : Self.run(makeWorld())
            if let failure = outcome.failure {
                failed.append(seed)
                print(Report(world: world, failure: failure))
                fflush(nil)
            }
            if fingerprints { print("seed \(seed): \(outcome.fingerprint)") }
            if (index + 1) % 100 == 0 {
                print("\(index + 1) seeds, \(failed.count) failed")
                fflush(nil)
            }
        }
        return failed
    }

    private static func run(_ world: World) -> (World, Simulation.Outcome) {
        defer { try? FileManager.default.removeItem(atPath: world.directory) }
        return (world, Simulation(world: world).run())
    }

    /// In memory, if possible: nothing here needs to outlive the run.
    private static var scratch: String {
        access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NSTemporaryDirectory()
    }

    /// Makes the order of sets and dictionaries the same in every run: re-executes with the variable that determines
    /// it.
    private static func fixHashing() {
        guard getenv("SWIFT_DETERMINISTIC_HASHING") == nil else { return }
        setenv("SWIFT_DETERMINISTIC_HASHING", "1", 1)
        var arguments = CommandLine.arguments.map { strdup($0) } + [nil]
        execv("/proc/self/exe", &arguments)
        print("cannot re-execute with SWIFT_DETERMINISTIC_HASHING: \(String(cString: strerror(errno)))")
    }
}

extension Sabotage: ExpressibleByArgument {}
