import Control
import FileSystem
import Glibc
import Model
import Remote
import Replica
import Sync
import VirtualTime

/// An instant without faults at which all devices are up to date: then all promises must hold.
struct QuietPoint {
    let world: World
    let devices: [SimulatedDevice]
    let programs: [Program]

    /// How long the devices may take to agree: ten minutes. The longest pauses of uploader and follower are 15 s.
    private static let patience = Duration.seconds(600)

    /// Waits for quiet, then checks everything.
    func run(random: inout SeededRandom) async throws {
        for device in devices {
            device.disarm()
            device.store.link = .good
        }
        let before = world.scenario.hasOneWriter ? try TreeListing(of: devices[0]) : nil
        try await waitForRest()
        let tree = try TreeListing(of: world)
        if let before { try compare(tree, with: before, "the tree of the only writer") }
        var local: Set<Token> = []
        for device in devices {
            let own = try TreeListing(of: device)
            try compare(own, with: tree, "the tree of the log", on: device)
            local.formUnion(own.localTokens)
            try await checkConsistency(of: device)
            if world.scenario.isContended { try device.checkLocks() }
            if random.happens(0.3) { try await readAll(on: device) }
        }
        try checkPromises(of: tree, local: local)
        try await checkFreshDevice(against: tree)
        try world.throwViolation()
        world.trace.note("quiet: \(tree.lines.count) items, commit \(world.newest)")
    }

    // MARK: Waiting

    func waitForRest() async throws {
        // Requests of the time before may still fail.
        try await world.clock.sleep(SimulatedStore.longestWait)
        let end = world.clock.now + Self.patience
        var reasons = ["it has not begun"]
        while !reasons.isEmpty {
            guard world.clock.now < end else { throw Violation("the devices do not come to rest: \(reasons)") }
            try await world.clock.sleep(.seconds(1))
            reasons = try unrest()
            if !reasons.isEmpty, world.scenario.hasLongTimes, world.clock.now > end - Self.patience / 2 {
                try await followAdvice()
            }
        }
    }

    private func unrest() throws -> [String] {
        var reasons = world.isSomethingLate ? ["a late write"] : []
        let newest = world.newest
        for device in devices {
            let fileSystem = try device.fileSystem
            let replica = fileSystem.replica
            // As `dewpoint sync` does: else that is a change in the middle of the judgement, up to a minute later.
            if !device.isDead { try fileSystem.syncUnlikeTemporary() }
            let pending = try replica.read { try $0.outbox.count() }
            if pending > 0 { reasons.append("\(device.name) has \(pending) changes to upload") }
            if replica.applied != newest { reasons.append("\(device.name) is at \(replica.applied) of \(newest)") }
            for number in try replica.read({ try $0.filesBelow(.root) })
            where try replica.read({ try $0.inode(number).hasIncoming }) {
                reasons.append("\(device.name) shows old bytes of \(try replica.read { try $0.path(of: number) })")
            }
            if let problem = ContainerSync(fileSystem).problem { reasons.append("\(device.name): \(problem)") }
        }
        return reasons
    }

    // MARK: Checking

    private func compare(
        _ tree: TreeListing, with other: TreeListing, _ what: String, on device: SimulatedDevice? = nil
    ) throws {
        let difference = tree.difference(from: other)
        guard !difference.isEmpty else { return }
        throw Violation(
            "\(device?.name ?? "the log") differs from \(what):\n  " + difference.joined(separator: "\n  "))
    }

    private func checkConsistency(of device: SimulatedDevice) async throws {
        let fileSystem = try device.fileSystem
        let problems = try await device.value { () async throws(FileError) in try await fileSystem.syncEngine.check() }
        guard problems.isEmpty else {
            throw Violation("\(device.name) is not in order:\n  " + problems.joined(separator: "\n  "))
        }
    }

    /// Reads every file through the file system, like programs do.
    private func readAll(on device: SimulatedDevice) async throws {
        let fileSystem = try device.fileSystem
        let caller = Caller(thread: 1 << 30, user: 0, group: 0)
        for number in try fileSystem.replica.read({ try $0.filesBelow(.root) }) {
            let wanted = try device.content(of: number)
            let opened = try await device.value(
                of: fileSystem.open(OpenRequest(inode: number, flags: O_RDONLY, caller: caller)))
            let content = try FileContent(
                bytes: try await device.read(opened.handle, of: fileSystem, by: caller))
            fileSystem.release(opened.handle, flockOwner: nil, by: caller)
            guard content == wanted else {
                throw Violation("\(device.name) reads \(content) where the container has \(wanted)")
            }
        }
    }

    /// - Parameter local: The tokens of items that are not synced.
    private func checkPromises(of tree: TreeListing, local: Set<Token>) throws {
        let missing = world.model.missing(from: tree.tokens.union(local))
        if !missing.isEmpty { throw Violation("acknowledged writes are lost:\n  " + missing.joined(separator: "\n  ")) }
        for token in tree.tokens.sorted() where !world.model.wasWritten(token) {
            throw Violation("there are bytes that were never written: token \(token)")
        }
        for (path, content) in tree.contents where !content.cells.isEmpty || content.count > 0 {
            let isLink = content.count == 1 && tree.lines.contains { $0.hasBytePrefix("\(path) symbolicLink") }
            guard isLink || world.model.hadFile(content) else {
                throw Violation("\(path) holds what no file ever held: \(content)")
            }
        }
        for value in tree.attributes where !world.model.wasSet(value) {
            throw Violation("there is an attribute that was never set: \(value)")
        }
        for name in tree.names where !Program.isKnown(name, mayConflict: !world.scenario.hasOneWriter) {
            throw Violation("there is a name that was never given: \(name)")
        }
    }

    /// A new device arrives at the same tree.
    private func checkFreshDevice(against tree: TreeListing) async throws {
        let device = SimulatedDevice(
            world: world, number: devices.count, name: "fresh", skew: .zero, sendsHints: false)
        try device.start()
        try await QuietPoint(world: world, devices: [device], programs: []).waitForRest()
        try compare(try TreeListing(of: device), with: tree, "the tree of the log", on: device)
        try await readAll(on: device)
        try await checkConsistency(of: device)
        try await device.stop(.orderly)
        device.removeState()
    }
}

extension Program {
    /// Whether a name may have been given by a program, or by the rule for conflicts.
    static func isKnown(_ name: String, mayConflict: Bool) -> Bool {
        var plain = name
        if mayConflict { plain.replace(#/ [0-9]+/#, with: "") }
        // A crash can leave an object whose real name only the index would have known.
        return (names + spelledNames + localNames).contains { $0.isBytewiseEqual(to: plain) } || plain == "Recovered"
            || (plain.hasPrefix(".") && plain.hasSuffix(".tmp"))
    }
}
