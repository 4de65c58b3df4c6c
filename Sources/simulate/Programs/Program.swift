import FileSystem
import Glibc
import Model
import Replica

/// A user of a device: executes random operations one after the other, as the mount would pass them on, and accounts
/// for each in the ``ReferenceModel``.
struct Program: Sendable {
    let device: SimulatedDevice
    let world: World
    var random: SeededRandom
    var files: [OpenFile] = []
    /// Inodes without a name that the kernel still remembers.
    var nameless: [InodeNumber] = []
    private var session = 0

    /// How many files it holds open at most.
    static let openLimit = 4

    struct OpenFile: Sendable {
        let handle: HandleID
        let inode: InodeNumber
        let flags: Int32
        var isWritable: Bool { flags & O_ACCMODE != O_RDONLY }
    }

    init(device: SimulatedDevice) {
        self.device = device
        world = device.world
        random = SeededRandom(seed: device.world.seed, stream: "program on \(device.name)")
    }

    /// A number that no thread has, so that `/proc` has no entry for it.
    var caller: Caller { Caller(thread: Int32(1 << 30) + Int32(device.number), user: 0, group: 0) }

    var fileSystem: FileSystem { get throws { try device.fileSystem } }

    // MARK: Steps

    /// Works for a while.
    ///
    /// - Parameter isDisturbing: Whether the device crashes, ends and loses its network meanwhile.
    mutating func run(steps: Int, disturbing isDisturbing: Bool = true) async throws {
        for _ in 0..<steps {
            try await pause()
            try world.throwViolation()
            if isDisturbing { try await disturb() }
            try await step()
        }
        device.disarm()
        if device.isDead { try await restart(.killed) }
        noticeRestart()
    }

    private mutating func pause() async throws {
        let longest = random.pick([0, 30, 3000, 3000, 20_000])
        try await world.clock.sleep(random.milliseconds(0...longest))
    }

    /// Events on a device besides its operations.
    private mutating func disturb() async throws {
        if random.happens(world.scenario.offlineShare) {
            device.store.link.isInReach.toggle()
            world.trace.note("\(device.name) is \(device.store.link.isInReach ? "" : "not ")in reach")
        }
        try sabotage(by: world.scenario.sabotage)
        if random.happens(world.scenario.crashShare) { device.crash(afterSteps: random.number(1...40)) }
        if device.isDead || random.happens(world.scenario.killShare) {
            try await restart(random.happens(0.2) ? .powerFailure : .killed)
        } else if random.happens(world.scenario.restartShare) {
            try await restart(.orderly)
        }
    }

    private mutating func restart(_ end: SimulatedDevice.End) async throws {
        let end: SimulatedDevice.End = end == .orderly && device.isDead ? .killed : end
        if end == .orderly { await closeAll() }
        try await device.stop(end)
        try await world.clock.sleep(random.milliseconds(0...5000))
        try device.start(after: end)
    }

    /// Open files do not survive the daemon.
    private mutating func noticeRestart() {
        guard session != device.sessionCount else { return }
        session = device.sessionCount
        files = []
        nameless = []
    }

    private mutating func step() async throws {
        noticeRestart()
        let isReader = world.scenario.hasOneWriter && device.number > 0
        let action = random.pick(isReader ? Action.reading : Action.all)
        let before = world.clock.now
        do {
            try await perform(action)
            note(action, "done", since: before)
        } catch let error as FileError {
            note(action, "\(error.code)", since: before)
            try judge(error, action)
        }
    }

    private func note(_ action: Action, _ outcome: String, since begin: Duration) {
        world.trace.note("\(device.name) \(action): \(outcome)")
    }

    /// Rejects errors that no program gets on a sound device.
    private func judge(_ error: FileError, _ action: Action) throws(Violation) {
        if device.isDead { return }
        let hasTrouble =
            world.scenario.faultShare > 0 || world.scenario.offlineShare > 0 || world.scenario.hasLongTimes
        let isExpected =
            switch error.code {
            case .notFound, .exists, .notDirectory, .isDirectory, .notEmpty, .busy, .interrupted, .noAttribute: true
            case .invalid: action == .renameDirectory || action == .exchange
            case .notPermitted: action == .link
            case .unreachable, .timedOut, .offline, .corrupt, .cancelled: hasTrouble
            default: false
            }
        if !isExpected { throw Violation("\(device.name): \(action) fails with \(error.code): \(error.detail)") }
    }

    // MARK: Places

    /// A name in a directory, taken or free.
    struct ResolvedPath: Sendable, CustomStringConvertible {
        let parent: InodeNumber
        let name: ItemName
        /// The path of its directory, with a trailing slash unless it is the root.
        let directory: String
        let attributes: Attributes?

        var description: String { directory + name.string }
    }

    static let names = ["a", "b", "c.txt", "d", "report.pdf", "é", ".a.icloud", "x y.tar.gz"]

    /// Names that are not synced.
    static let localNames = [".DS_Store", "~$report"]

    /// A place somewhere in the tree, usually an existing one.
    mutating func place(existing: Double = 0.6) throws -> ResolvedPath {
        var parent = InodeNumber.root
        var path = ""
        while random.happens(0.5) {
            let directories = try fileSystem.names(of: parent).filter { $0.kind == .directory }
            guard !directories.isEmpty else { break }
            let next = random.pick(directories)
            parent = next.inode
            path += "\(next.name)/"
        }
        let names = world.scenario.hasLocalNames ? Self.names + Self.localNames : Self.names
        var name = try ItemName(random.pick(names))
        if random.happens(existing) {
            let present = try fileSystem.names(of: parent)
            if !present.isEmpty { name = random.pick(present).name }
        }
        return try place(name, in: parent, path: path)
    }

    func place(_ name: ItemName, in parent: InodeNumber, path: String) throws -> ResolvedPath {
        var attributes: Attributes?
        let fileSystem = try fileSystem
        do throws(FileError) {
            attributes = try fileSystem.lookup(name, in: parent)
        } catch {
            guard error.code == .notFound else { throw error }
        }
        return ResolvedPath(parent: parent, name: name, directory: path, attributes: attributes)
    }

    /// An existing place.
    mutating func taken(_ kinds: [ItemKind] = [.file, .directory, .symbolicLink]) throws -> (ResolvedPath, Attributes) {
        for _ in 0..<4 {
            let place = try place(existing: 1)
            if let attributes = place.attributes, kinds.contains(attributes.kind) { return (place, attributes) }
        }
        throw FileError(.notFound, "no item of these kinds was found")
    }

    mutating func takenFile() throws -> (ResolvedPath, InodeNumber) {
        let (place, attributes) = try taken([.file])
        return (place, attributes.inode)
    }

    // MARK: Accounts

    func token(_ what: String) -> Token { world.model.makeToken("\(device.name) \(what) at \(world.clock.now)") }

    /// Executes a change of file contents, and accounts for it.
    ///
    /// - Parameter number: The inode that shows the last of `after` once it is done.
    func change(
        before: [FileContent], after: [FileContent], of number: InodeNumber? = nil, _ body: () async throws -> Void
    ) async throws {
        do {
            try await body()
        } catch let error as FileError {
            if device.isDead { world.model.note(.unknown, before: before, after: after) }
            throw error
        }
        world.trace.note("\(device.name) \(number.map { "\($0)" } ?? "-"): \(before) -> \(after)")
        guard !device.isDead else { return world.model.note(.unknown, before: before, after: after) }
        guard let number else { return world.model.note(.done, before: before, after: after) }
        let isNameless = try fileSystem.replica.attributes(of: number).linkCount == 0
        world.model.note(isNameless ? .nameless : .done, before: before, after: after)
        let shown = try device.content(of: number)
        if let wanted = after.last, shown != wanted {
            throw Violation("\(device.name): \(number) shows \(shown) after a change that should leave \(wanted)")
        }
    }
}
