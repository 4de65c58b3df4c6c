import CLinux
import Coordination
import Glibc
package import Linux
package import Model
import Synchronization

/// What the daemon that takes the place of a killed one must know and the index does not have: the open files of the mount,
/// and the kernel's first request. It is in memory that the supervisor keeps.
///
///     0       the head: magic, version, number of slots, …, the kernel's INIT
///     4096    the slots, of 96 bytes each
///             the advisory locks: see ``LockSlots``
///             the claims: see ``ClaimSlots``
///
/// A slot is filled before it counts as used, and is free before it is filled anew: a daemon that is killed leaves each of
/// them whole, whatever it was doing. All numbers are native.
///
/// `@unchecked Sendable`: each slot belongs to its handle, and has one writer at a time; the free ones are under a lock.
package final class HandleSlots: @unchecked Sendable {
    /// How many open files can be kept.
    package static let count = 65_536

    private enum Head {
        static let magic = 0
        static let version = 8
        static let slotCount = 12
        static let isIncomplete = 16
        static let initByteCount = 20
        static let device = 24
        static let helper = 28
        static let replacements = 32
        /// The slots from here on were never used: their memory takes no space.
        static let unused = 36
        static let initBytes = 64
        static let byteCount = 4096
    }

    private enum Field {
        static let state = 0
        static let flags = 4
        static let handle = 8
        static let inode = 16
        static let request = 24
        static let backing = 32
        static let thread = 36
        static let user = 40
        static let group = 44
        static let access = 48
        static let isNameless = 49
        /// Of record locks that were taken through the handle.
        static let owners = 56
        static let ownerCount = 5
        static let byteCount = owners + 8 * ownerCount
    }

    /// Also says that the bytes are ours: "dewpoint".
    private static let magic: UInt64 = 0x746e_696f_7077_6564
    /// The form of what is noted.
    package static let version: UInt32 = 2
    private static let locksStart = Head.byteCount + count * Field.byteCount
    private static let claimsStart = locksStart + LockSlots.byteCount
    private static let byteCount = claimsStart + ClaimSlots.byteCount
    /// The longest INIT that is kept, in bytes: that of protocol 7.45 has 104.
    private static let initLimit = 1024

    package let file: Descriptor
    /// Whether it was begun by a daemon that was killed.
    package let isAdopted: Bool
    private let memory: UnsafeMutableRawPointer
    let locks: LockSlots
    let claims: ClaimSlots
    /// The numbers of the free slots; the next one is the last.
    private let free: Mutex<[Int32]>

    /// Begins with no open file.
    package convenience init() throws(FileError) {
        let file = Descriptor(
            owning: try SystemCalls.check("memfd_create", as: "handles") { CLinux_memfd_create("dewpoint-handles") })
        try file.truncate(to: Int64(Self.byteCount))
        try self.init(file, isAdopted: false)
        store(Self.magic, Head.magic)
        store(Self.version, Head.version)
        store(UInt32(Self.count), Head.slotCount)
    }

    /// Goes on with those of a daemon that was killed.
    ///
    /// - Throws: `unsupported` when they are of another version.
    package convenience init(adopting file: Descriptor) throws(FileError) {
        guard try file.status().size == Self.byteCount else {
            throw FileError(.unsupported, "the open files were noted by another version")
        }
        try self.init(file, isAdopted: true)
        guard load(UInt64.self, Head.magic) == Self.magic, load(UInt32.self, Head.version) == Self.version else {
            throw FileError(.unsupported, "the open files were noted by another version")
        }
        store(load(UInt32.self, Head.replacements) &+ 1, Head.replacements)
    }

    private init(_ file: Descriptor, isAdopted: Bool) throws(FileError) {
        let mapped = mmap(nil, Self.byteCount, PROT_READ | PROT_WRITE, MAP_SHARED, file.rawValue, 0)
        guard let mapped, mapped != MAP_FAILED else { throw FileError(FailedCall("mmap"), "mmap of the open files") }
        self.file = file
        self.isAdopted = isAdopted
        memory = mapped
        locks = LockSlots(mapped + Self.locksStart)
        claims = ClaimSlots(mapped + Self.claimsStart)
        var numbers: [Int32] = []
        numbers.reserveCapacity(Self.count)
        let unused = mapped.load(fromByteOffset: Head.unused, as: Int32.self)
        for number in (0..<Int32(Self.count)).reversed() {
            let state = mapped + Self.start(of: number) + Field.state
            if number >= unused || state.load(as: UInt32.self) == 0 { numbers.append(number) }
        }
        free = Mutex(numbers)
    }

    deinit { munmap(memory, Self.byteCount) }

    private func store<Value: BitwiseCopyable>(_ value: Value, _ offset: Int) {
        memory.storeBytes(of: value, toByteOffset: offset, as: Value.self)
    }

    private func load<Value: BitwiseCopyable>(_ type: Value.Type, _ offset: Int) -> Value {
        memory.load(fromByteOffset: offset, as: type)
    }

    // MARK: The head

    /// Whether more files were open, or locks or claims held, than there is room for.
    package private(set) var isIncomplete: Bool {
        get { load(UInt32.self, Head.isIncomplete) != 0 }
        set { store(UInt32(newValue ? 1 : 0), Head.isIncomplete) }
    }

    /// How often a daemon was replaced.
    package var replacementCount: UInt32 { load(UInt32.self, Head.replacements) }

    /// The device number of the mount, below `/sys/fs/fuse/connections`.
    package var device: UInt32 {
        get { load(UInt32.self, Head.device) }
        set { store(newValue, Head.device) }
    }

    /// The process that announces changes on the mount; 0 without one. Its requests are none of a program.
    package var helper: Int32 {
        get { load(Int32.self, Head.helper) }
        set { store(newValue, Head.helper) }
    }

    /// The kernel's first request, which it sends only once; empty before.
    package var initRequest: [UInt8] {
        let count = min(Int(load(UInt32.self, Head.initByteCount)), Self.initLimit)
        return Array(UnsafeRawBufferPointer(start: memory + Head.initBytes, count: count))
    }

    package func keep(initRequest bytes: UnsafeRawBufferPointer) {
        guard bytes.count <= Self.initLimit else { return }
        UnsafeMutableRawBufferPointer(start: memory + Head.initBytes, count: bytes.count).copyMemory(from: bytes)
        store(UInt32(bytes.count), Head.initByteCount)
    }

    // MARK: The slots

    /// The number of a slot.
    typealias Slot = Int32

    /// An open file.
    struct Record {
        var handle: HandleID
        var inode: InodeNumber
        /// The flags of open(2).
        var flags: Int32
        var access: OpenInode.Access
        /// Who opened it, by which request.
        var caller: Caller
        /// Whether it was created without a name, and may get one.
        var isNameless = false
        /// The kernel's number of the backing file, which this handle holds open; 0 for none.
        var backing: Int32 = 0
    }

    /// - Returns: `nil` when all are used.
    func insert(_ record: Record) -> Slot? {
        guard let slot = free.withLock({ $0.popLast() }) else {
            isIncomplete = true
            return nil
        }
        let start = Self.start(of: slot)
        noteUse(of: slot)
        store(record.flags, start + Field.flags)
        store(record.handle.rawValue, start + Field.handle)
        store(record.inode.rawValue, start + Field.inode)
        store(record.caller.request?.rawValue ?? 0, start + Field.request)
        store(record.backing, start + Field.backing)
        store(record.caller.thread, start + Field.thread)
        store(record.caller.user, start + Field.user)
        store(record.caller.group, start + Field.group)
        store(record.access.number, start + Field.access)
        store(UInt8(record.isNameless ? 1 : 0), start + Field.isNameless)
        for number in 0..<Field.ownerCount { store(UInt64(0), start + Field.owners + 8 * number) }
        state(of: slot).pointee.store(1, ordering: .releasing)
        return slot
    }

    private func noteUse(of slot: Slot) {
        let unused = (memory + Head.unused).assumingMemoryBound(to: Atomic<Int32>.self)
        unused.pointee.max(slot + 1, ordering: .relaxed)
    }

    func remove(_ slot: Slot) {
        state(of: slot).pointee.store(0, ordering: .sequentiallyConsistent)
        free.withLock { $0.append(slot) }
    }

    /// - Parameter backing: 0 for none.
    func note(backing: Int32, in slot: Slot) { store(backing, Self.start(of: slot) + Field.backing) }

    func backing(in slot: Slot) -> Int32 { load(Int32.self, Self.start(of: slot) + Field.backing) }

    func noteNameless(in slot: Slot) { store(UInt8(1), Self.start(of: slot) + Field.isNameless) }

    /// Keeps the owners of record locks that were taken through a handle and may outlive a close(2): with more than there is
    /// room for, the locks of the others end with a close of the file by their process only.
    func note(owners: Set<UInt64>, in slot: Slot) {
        var left = owners.sorted()[...]
        for number in 0..<Field.ownerCount {
            store(left.popFirst() ?? 0, Self.start(of: slot) + Field.owners + 8 * number)
        }
    }

    func owners(in slot: Slot) -> [UInt64] {
        (0..<Field.ownerCount).map { load(UInt64.self, Self.start(of: slot) + Field.owners + 8 * $0) }.filter {
            $0 != 0
        }
    }

    /// Keeps the advisory locks of a file.
    func keep(_ locks: [HeldLock], of inode: InodeNumber) {
        if !self.locks.set(locks, of: inode) { isIncomplete = true }
    }

    /// Keeps claims that were granted or have moved, and forgets those that ended.
    func keep(_ held: [HeldClaim], ended: [ClaimSetID]) {
        for id in ended { claims.remove(id) }
        for claim in held where !claims.keep(claim) { isIncomplete = true }
    }

    /// The used slots.
    var records: [(slot: Slot, record: Record)] {
        (0..<min(load(Slot.self, Head.unused), Slot(Self.count))).compactMap { slot in
            guard state(of: slot).pointee.load(ordering: .acquiring) == 1 else { return nil }
            return (slot, record(in: slot))
        }
    }

    private func record(in slot: Slot) -> Record {
        let start = Self.start(of: slot)
        let request = load(UInt64.self, start + Field.request)
        return Record(
            handle: HandleID(rawValue: load(UInt64.self, start + Field.handle)),
            inode: InodeNumber(load(UInt64.self, start + Field.inode)),
            flags: load(Int32.self, start + Field.flags),
            access: OpenInode.Access(number: load(UInt8.self, start + Field.access)),
            caller: Caller(
                thread: load(Int32.self, start + Field.thread), user: load(UInt32.self, start + Field.user),
                group: load(UInt32.self, start + Field.group),
                request: request == 0 ? nil : RequestNumber(rawValue: request)),
            isNameless: load(UInt8.self, start + Field.isNameless) != 0,
            backing: load(Int32.self, start + Field.backing))
    }

    private static func start(of slot: Slot) -> Int { Head.byteCount + Int(slot) * Field.byteCount }

    private func state(of slot: Slot) -> UnsafeMutablePointer<Atomic<UInt32>> {
        (memory + Self.start(of: slot) + Field.state).assumingMemoryBound(to: Atomic<UInt32>.self)
    }
}

extension OpenInode.Access {
    fileprivate var number: UInt8 {
        switch self {
        case .direct: 0
        case .cached: 1
        case .passthrough: 2
        }
    }

    fileprivate init(number: UInt8) {
        self =
            switch number {
            case 1: .cached
            case 2: .passthrough
            default: .direct
            }
    }
}
