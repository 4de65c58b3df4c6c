import FileSystem
import Model
import Replica
import Synchronization
import VirtualTime

/// Accounts of changes in the ``ReferenceModel``.
///
/// A change that waits is accounted for in the very job in which it happens, and with what the device showed when that
/// job began: other programs may change the same files while it waits.
extension Program {
    /// What a change of files does, as the device shows them at one instant.
    struct Sight: Sendable {
        /// What the device shows of the files that are changed.
        var before: [FileContent] = []
        /// What it shows afterwards.
        var after: [FileContent] = []
        /// The conflict versions of what is moved or removed.
        var versions: [[FileContent]] = []
        /// Those of them that leave the container with what is moved to a local-only name.
        var leaving: [FileContent] = []
        /// What is moved or removed, and what is replaced.
        var moved: Attributes?
        var replaced: Attributes?
        /// Where what is moved or removed is, and what is replaced.
        var places: [ResolvedPath] = []
        /// The contents of links that may be lost from now on.
        var links: [FileContent] = []
        /// What is copied, and where to.
        var source: FileContent?
        var copy: InodeNumber?
        /// The claims of other programs that the change must wait for.
        var concerned: [HeldClaims.Claim] = []
    }

    func token(_ what: String) -> Token { world.model.makeToken("\(label) \(what) at \(world.clock.now)") }

    /// Executes a change of files, and accounts for it.
    ///
    /// - Parameters:
    ///   - number: The inode that shows the last of `after` once it is done.
    ///   - limit: When the program interrupts it.
    ///   - isNoted: Whether it has to do with contents.
    ///   - look: The change at an instant. Changes nothing.
    ///   - finish: Called in the same instant in which it is done, also when the device died.
    func change<Value: Sendable>(
        of number: InodeNumber? = nil, limit: Duration? = nil, isNoted: Bool = true,
        _ look: @escaping @Sendable () throws -> Sight,
        then finish: @escaping @Sendable (Sight, Value) throws -> Void = { _, _ in },
        _ begin: () throws -> Answer<Value>
    ) async throws -> (Value, Sight) {
        let start = world.clock.now
        let lookWithClaims = { @Sendable () throws -> Sight in
            var sight = try look()
            sight.concerned = try claimsConcerned(by: sight, of: number)
            return sight
        }
        let sight = Box(try lookWithClaims())
        let account: @Sendable (Value) throws -> Void = { value in
            if isNoted { try record(sight.value, of: number) }
            try finish(sight.value, value)
            try noteClaims(sight.value, number, since: start)
        }
        do {
            try checkClaims()
            switch try begin() {
            case .ready(let value):
                try account(value)
                return (value, sight.value)
            case .pending(let wait) where !world.scenario.isContended:
                let value = try await device.value(limit: limit) { () async throws(FileError) in try await wait() }
                try account(value)
                return (value, sight.value)
            case .pending(let wait):
                let watch = world.executor.watch { sight.look(lookWithClaims) }
                defer { world.executor.endWatch(watch) }
                let value = try await device.value(limit: limit) { [world] () async throws(FileError) in
                    let value = try await wait()
                    do { try account(value) } catch  where !(error is Outage) {
                        world.report(Violation("\(error)"))
                    } catch {}
                    return value
                }
                try world.throwViolation()
                return (value, sight.value)
            }
        } catch let error as FileError {
            if isCutOff {
                world.model.note(.unknown, before: sight.value.before, after: sight.value.after)
                world.model.note(.unknown, before: sight.value.leaving, after: [])
            }
            throw error
        }
    }

    /// Accounts for a change that has just happened.
    private func record(_ sight: Sight, of number: InodeNumber?) throws {
        world.trace.note("\(label) \(number.map { "\($0)" } ?? "-"): \(sight.before) -> \(sight.after)")
        guard !isCutOff else { return world.model.note(.unknown, before: sight.before, after: sight.after) }
        guard let number else { return world.model.note(.done, before: sight.before, after: sight.after) }
        let isNameless = try fileSystem.replica.read { try $0.attributes(of: number).linkCount } == 0
        world.model.note(isNameless ? .nameless : .done, before: sight.before, after: sight.after)
        device.programs.changed(number)
        let shown = try device.content(of: number)
        if let wanted = sight.after.last, shown != wanted {
            throw Violation("\(label): \(number) shows \(shown) after a change that should leave \(wanted)")
        }
    }
}

/// A value that is looked at again and again.
private final class Box: Sendable {
    private let content: Mutex<Program.Sight>

    init(_ value: Program.Sight) { content = Mutex(value) }

    var value: Program.Sight { content.withLock { $0 } }

    /// What cannot be looked at any more stays as it was.
    func look(_ look: () throws -> Program.Sight) {
        if let value = try? look() { content.withLock { $0 = value } }
    }
}
