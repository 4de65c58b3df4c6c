import FileSystem
import Glibc
import Model
import Replica
import VirtualTime

/// A user of a device: executes random operations one after the other, as the mount would pass them on, and accounts
/// for each in the ``ReferenceModel``. Several may work on one device; the first also ends and crashes it.
struct Program: Sendable {
    let device: SimulatedDevice
    let world: World
    /// Its number on the device.
    let index: Int
    /// For the trace.
    let label: String
    var random: SeededRandom
    var files: [OpenFile] = []
    /// Its session with the daemon, for claims and presenters.
    var client: SimulatedClient?
    /// Inodes without a name that the kernel still remembers.
    var nameless: [InodeNumber] = []
    private(set) var session = 0

    /// How many files it holds open at most.
    static let openLimit = 4

    struct OpenFile: Sendable {
        let handle: HandleID
        let inode: InodeNumber
        let flags: Int32
        var isWritable: Bool { flags & O_ACCMODE != O_RDONLY }
    }

    init(device: SimulatedDevice, index: Int = 0) {
        self.device = device
        self.index = index
        world = device.world
        label = index == 0 ? device.name : "\(device.name)\(index)"
        random = SeededRandom(
            seed: device.world.seed, stream: "program \(index == 0 ? "" : "\(index) ")on \(device.name)")
    }

    /// The programs of a device.
    static func all(on device: SimulatedDevice) -> [Program] {
        (0..<device.world.scenario.programCounts[device.number]).map { Program(device: device, index: $0) }
    }

    /// A number that no thread has, so that `/proc` has no entry for it.
    var caller: Caller { Caller(thread: process, user: 0, group: 0) }

    var process: Int32 { Int32(1 << 30) + Int32(device.number) + Int32(index << 8) }

    /// - Throws: ``Outage`` when the daemon has ended that the program began to work with.
    var fileSystem: FileSystem { get throws { try device.fileSystem(ofSession: session) } }

    /// Whether the daemon died that the program works with: what happened since may have been lost.
    var isCutOff: Bool { device.isDead || device.sessionCount != session }

    // MARK: Steps

    /// Works for a while.
    ///
    /// - Parameter isDisturbing: Whether the device crashes, ends and loses its network meanwhile.
    mutating func run(steps: Int, disturbing isDisturbing: Bool = true) async throws {
        noticeRestart()
        for _ in 0..<steps {
            try await pause()
            try world.throwViolation()
            if isDisturbing, index == 0 { try await disturb() }
            try await waitForDaemon()
            device.programs.begin()
            defer { device.programs.end() }
            try await step()
        }
        if index == 0 {
            device.disarm()
            if device.isDead { try await restart(.killed) }
        }
        try await waitForDaemon()
        noticeRestart()
        endSession()
    }

    /// Waits until the first program of the device has started it again.
    private func waitForDaemon() async throws {
        guard index > 0 else { return }
        while device.isDown || device.programs.isInRecess { try await world.clock.sleep(Self.glance) }
    }

    private static let glance = Duration.milliseconds(100)

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
        try await sabotage(by: world.scenario.sabotage)
        if random.happens(world.scenario.crashShare) { device.crash(afterSteps: random.number(1...40)) }
        if device.isDead || random.happens(world.scenario.killShare) {
            try await restart(random.happens(0.2) ? .powerFailure : .killed)
        } else if random.happens(world.scenario.restartShare) {
            try await restart(.orderly)
        } else if world.scenario.replaceShare > 0, random.happens(world.scenario.replaceShare) {
            try await replaceDaemon()
        }
    }

    /// Kills the daemon and has another take its place, between two operations.
    private mutating func replaceDaemon() async throws {
        try await beginRecess()
        guard !device.isDead else { return try await restart(.killed) }
        let before = try device.openContents()
        try await device.stop(.replaced)
        try await world.clock.sleep(random.milliseconds(0...500))
        try device.start(after: .replaced)
        device.programs.endRecess()
        let after = try device.openContents()
        guard after == before else {
            throw Violation("\(label): open files show \(after) after the daemon was replaced, and \(before) before")
        }
    }

    private mutating func restart(_ end: SimulatedDevice.End) async throws {
        if end == .orderly { try await beginRecess() }
        let end: SimulatedDevice.End = end == .orderly && device.isDead ? .killed : end
        if end == .orderly { await closeAll() }
        if end == .orderly, world.scenario.isContended { closeFilesOfOthers() }
        try await device.stop(end)
        device.programs.endRecess()
        try await world.clock.sleep(random.milliseconds(0...5000))
        try device.start(after: end)
    }

    /// Waits until no other program is in the middle of an operation.
    private func beginRecess() async throws {
        device.programs.beginRecess()
        while device.programs.isBusy { try await world.clock.sleep(Self.glance) }
    }

    private func closeFilesOfOthers() {
        guard let fileSystem = try? fileSystem else { return }
        for handle in device.programs.openFiles.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
            // A file that cannot be closed ends with the daemon.
            try? fileSystem.flush(handle, lockOwner: 0, by: caller)
            fileSystem.release(handle, flockOwner: nil, by: caller)
        }
    }

    /// Open files and sessions do not survive the daemon.
    private mutating func noticeRestart() {
        guard session != device.sessionCount else { return }
        session = device.sessionCount
        files = []
        nameless = []
        endSession()
    }

    /// Removes trees, and does nothing else.
    mutating func removeTrees(_ count: Int) async throws {
        noticeRestart()
        for _ in 0..<count {
            try await pause()
            try await attempt(.remove) { program in try await program.removeTree() }
        }
        endSession()
    }

    private mutating func step() async throws {
        noticeRestart()
        let isReader = world.scenario.hasOneWriter && device.number > 0
        let action = pickAction(isReader: isReader)
        try await attempt(action) { program in try await program.perform(action) }
    }

    private mutating func attempt(_ action: Action, _ body: (inout Program) async throws -> Void) async throws {
        let before = world.clock.now
        do {
            try await body(&self)
            note(action, "done", since: before)
        } catch let error as FileError {
            note(action, "\(error.code)", since: before)
            try judge(error, action)
        } catch let error as Outage {
            guard world.scenario.isContended else { throw error }
            note(action, "the daemon ended", since: before)
        }
    }

    private mutating func pickAction(isReader: Bool) -> Action {
        if world.scenario.hasClaims, random.happens(Action.coordinatingShare) {
            return random.pick(Action.coordinating)
        }
        return random.pick(isReader ? Action.reading : Action.all)
    }

    private func note(_ action: Action, _ outcome: String, since begin: Duration) {
        world.trace.note("\(label) \(action): \(outcome)")
    }

    /// Rejects errors that no program gets on a sound device.
    private func judge(_ error: FileError, _ action: Action) throws(Violation) {
        if isCutOff { return }
        let hasTrouble = world.scenario.hasTrouble
        let isExpected =
            switch error.code {
            case .notFound, .exists, .notDirectory, .isDirectory, .notEmpty, .busy, .interrupted, .noAttribute: true
            case .invalid: [.renameDirectory, .exchange, .claimToWrite].contains(action)
            case .notPermitted: action == .link
            case .timedOut, .cancelled: hasTrouble || Action.coordinating.contains(action)
            case .unreachable, .offline, .corrupt: hasTrouble
            case .crossDevice: action == .claimToRead || action == .claimToWrite
            // The kernel looks the path up again.
            case .superseded: world.scenario.isContended
            default: false
            }
        if !isExpected { throw Violation("\(label): \(action) fails with \(error.code): \(error.detail)") }
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

    /// Two spellings of one text, and names that begin with a combining mark, a joiner, a variation selector, a Thai
    /// sign and U+FEFF.
    static let spelledNames = [
        "caf\u{e9}", "cafe\u{301}", "\u{301}m", "\u{200d}", "\u{fe0f}v.txt", "\u{e31}t", "\u{feff}b", "b",
    ]

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
        let names =
            Self.names + (world.scenario.hasLocalNames ? Self.localNames : [])
            + (world.scenario.hasSpellings ? Self.spelledNames : [])
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
}
