import Coordination
import Model
import Synchronization

/// The advisory locks that programs hold, for the daemon that takes the place of a killed one: the kernel keeps none of a
/// FUSE mount.
///
///     head       how many of the files were ever used
///     files      for each file with locks: its inode, and the first of its locks
///     locks      each with the number of the next one of the same file
///
/// A change writes the locks of the file anew into free places, and then names the first of them, in one store: a daemon that
/// is killed leaves the locks from before or from after it. Numbers count from 1, and 0 stands for none.
///
/// `@unchecked Sendable`: everything is under the lock of `state`.
final class LockSlots: @unchecked Sendable {
    /// How many files with locks, and how many locks, can be kept.
    static let fileCount = 16_384
    static let lockCount = 65_536

    private enum File {
        static let inode = 0
        static let first = 8
        static let byteCount = 16
    }

    private enum Lock {
        static let next = 0
        static let kind = 4
        static let isExclusive = 5
        static let process = 8
        static let start = 16
        static let end = 24
        /// Of a record lock; of one of flock(2) the handle.
        static let owner = 32
        static let byteCount = 40
    }

    private static let headByteCount = 16
    private static let locksStart = headByteCount + fileCount * File.byteCount
    static let byteCount = locksStart + lockCount * Lock.byteCount

    private struct State {
        var files: [InodeNumber: UInt32] = [:]
        /// The next one is the last.
        var freeFiles: [UInt32] = []
        var freeLocks: [UInt32] = []
    }

    private let memory: UnsafeMutableRawPointer
    private let state: Mutex<State>

    /// - Parameter memory: Of ``byteCount`` bytes: zeros, or what an earlier daemon has left.
    init(_ memory: UnsafeMutableRawPointer) {
        self.memory = memory
        var state = State()
        var taken: Set<UInt32> = []
        let used = memory.load(as: UInt32.self)
        for file in (1...UInt32(Self.fileCount)).reversed() {
            // The memory of what was never used takes no space.
            let first = file > used ? 0 : Self.first(file, memory)
            guard first != 0 else {
                state.freeFiles.append(file)
                continue
            }
            state.files[Self.inode(file, memory)] = file
            taken.formUnion(Self.chain(from: first, memory))
        }
        state.freeLocks = (1...UInt32(Self.lockCount)).reversed().filter { !taken.contains($0) }
        self.state = Mutex(state)
    }

    /// All locks that were left.
    var all: [(inode: InodeNumber, locks: [HeldLock])] {
        state.withLock { state in
            state.files.sorted { $0.key < $1.key }.map { inode, file in
                (inode, Self.chain(from: Self.first(file, memory), memory).map(lock))
            }
        }
    }

    /// Keeps the locks of a file in place of those from before.
    ///
    /// - Returns: Whether there was room for them; otherwise those from before are kept.
    func set(_ locks: [HeldLock], of inode: InodeNumber) -> Bool {
        state.withLock { state in
            let known = state.files[inode]
            if locks.isEmpty, known == nil { return true }
            guard locks.count <= state.freeLocks.count, let file = known ?? state.freeFiles.popLast() else {
                return false
            }
            let before = known.map { Self.chain(from: Self.first($0, memory), memory) } ?? []
            var next: UInt32 = 0
            for lock in locks {
                let number = state.freeLocks.removeLast()
                store(lock, number, next: next)
                next = number
            }
            if known == nil {
                memory.storeBytes(of: max(file, memory.load(as: UInt32.self)), as: UInt32.self)
                memory.storeBytes(of: inode.rawValue, toByteOffset: Self.start(file), as: UInt64.self)
            }
            (memory + Self.start(file) + File.first).assumingMemoryBound(to: Atomic<UInt32>.self).pointee
                .store(next, ordering: .sequentiallyConsistent)
            state.freeLocks += before
            state.files[inode] = locks.isEmpty ? nil : file
            if locks.isEmpty { state.freeFiles.append(file) }
            return true
        }
    }

    // MARK: The memory

    private static func start(_ file: UInt32) -> Int { headByteCount + Int(file - 1) * File.byteCount }

    private static func start(lock number: UInt32) -> Int { locksStart + Int(number - 1) * Lock.byteCount }

    private static func inode(_ file: UInt32, _ memory: UnsafeMutableRawPointer) -> InodeNumber {
        InodeNumber(memory.load(fromByteOffset: start(file) + File.inode, as: UInt64.self))
    }

    private static func first(_ file: UInt32, _ memory: UnsafeMutableRawPointer) -> UInt32 {
        memory.load(fromByteOffset: start(file) + File.first, as: UInt32.self)
    }

    private static func chain(from first: UInt32, _ memory: UnsafeMutableRawPointer) -> [UInt32] {
        var (numbers, next) = ([UInt32](), first)
        while (1...UInt32(lockCount)).contains(next), numbers.count < lockCount {
            numbers.append(next)
            next = memory.load(fromByteOffset: start(lock: next) + Lock.next, as: UInt32.self)
        }
        return numbers
    }

    private func store(_ lock: HeldLock, _ number: UInt32, next: UInt32) {
        let start = Self.start(lock: number)
        func put<Value: BitwiseCopyable>(_ value: Value, _ offset: Int) {
            memory.storeBytes(of: value, toByteOffset: start + offset, as: Value.self)
        }
        put(next, Lock.next)
        switch lock {
        case .record(let record):
            put(UInt8(0), Lock.kind)
            put(UInt8(record.mode == .exclusive ? 1 : 0), Lock.isExclusive)
            put(record.process.rawValue, Lock.process)
            put(record.range.lowerBound, Lock.start)
            put(record.range.upperBound, Lock.end)
            put(record.owner.rawValue, Lock.owner)
        case .flock(let mode, let handle, let process):
            put(UInt8(1), Lock.kind)
            put(UInt8(mode == .exclusive ? 1 : 0), Lock.isExclusive)
            put(process.rawValue, Lock.process)
            put(handle.rawValue, Lock.owner)
        }
    }

    private func lock(_ number: UInt32) -> HeldLock {
        let start = Self.start(lock: number)
        func get<Value: BitwiseCopyable>(_ type: Value.Type, _ offset: Int) -> Value {
            memory.load(fromByteOffset: start + offset, as: type)
        }
        let mode: LockMode = get(UInt8.self, Lock.isExclusive) == 1 ? .exclusive : .shared
        let process = ProcessID(get(Int32.self, Lock.process))
        let owner = get(UInt64.self, Lock.owner)
        if get(UInt8.self, Lock.kind) == 1 { return .flock(mode, OpenHandleID(owner), process) }
        let first = get(Int64.self, Lock.start)
        return .record(
            RecordLock(
                mode: mode, range: first...max(first, get(Int64.self, Lock.end)), owner: LockOwner(owner),
                process: process))
    }
}
