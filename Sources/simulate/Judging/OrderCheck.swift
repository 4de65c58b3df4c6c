import Foundation

/// Two sets of changes that were made without knowledge of each other, with their commits in either order: what is left
/// must be the same.
///
/// One device deletes, the other does anything. Where both set a name, a mode or an attribute, the rules let the first
/// commit win; a deletion has no such freedom.
struct OrderCheck {
    let world: World
    /// The number of the device whose commits are first.
    let first: Int

    /// How many operations, and how many deletions, there are between the meetings, at most.
    private static let mostChanges = 12
    private static let mostDeletions = 4

    /// Runs a seed in both orders.
    static func run(_ makeWorld: () -> World) -> (World, Simulation.Outcome) {
        var trees: [TreeListing] = []
        var fingerprint = ""
        while true {
            let world = makeWorld()
            defer { try? FileManager.default.removeItem(atPath: world.directory) }
            let check = OrderCheck(world: world, first: trees.count)
            let result = Simulation(world: world).result { try await check.meet() }
            fingerprint += world.trace.fingerprint
            switch result {
            case .failure(let error):
                return (world, Simulation.Outcome(failure: "\(error)", fingerprint: fingerprint))
            case .success(let tree):
                trees.append(tree)
            }
            guard trees.count == 2 else { continue }
            let difference = trees[1].timelessDifference(from: trees[0])
            let failure =
                difference.isEmpty
                ? nil
                : "the outcome depends on the order of commits; with the deletions first there is:\n  "
                    + difference.joined(separator: "\n  ")
            return (world, Simulation.Outcome(failure: failure, fingerprint: fingerprint))
        }
    }

    /// - Returns: The tree after both devices have met.
    private func meet() async throws -> TreeListing {
        let simulation = Simulation(world: world)
        let devices = try await simulation.startDevices()
        var random = SeededRandom(seed: world.seed, stream: "orders")
        let programs = devices.flatMap { Program.all(on: $0) }
        var changers = try await simulation.work(programs, steps: world.scenario.phases[0] / 2, disturbing: false)
        for index in changers.indices { await changers[index].closeAll() }
        try await QuietPoint(world: world, devices: devices, programs: changers).run(random: &random)
        for device in devices { device.store.link.isInReach = false }
        let deleter = changers.first { $0.device.number == 1 }
        changers = try await simulation.work(
            changers.filter { $0.device.number == 0 }, steps: random.number(1...Self.mostChanges), disturbing: false)
        for index in changers.indices { await changers[index].closeAll() }
        if var deleter { try await deleter.removeTrees(random.number(1...Self.mostDeletions)) }
        for number in [first, 1 - first] {
            devices[number].store.link = .good
            world.trace.note("\(devices[number].name) meets the container")
            try await QuietPoint(world: world, devices: [devices[number]], programs: []).waitForRest()
        }
        try await QuietPoint(world: world, devices: devices, programs: changers).run(random: &random)
        let tree = try TreeListing(of: world)
        for device in devices { try await device.stop(.orderly) }
        return tree
    }
}
