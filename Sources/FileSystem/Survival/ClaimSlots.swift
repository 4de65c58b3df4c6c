import Coordination
import Foundation
import Model
import Synchronization

/// The claims that clients hold, for the daemon that takes the place of a killed one: the clients come back and go on with
/// them.
///
///     head       how many of the slots were ever used
///     slots      state, length, a number that grows with each change, and the claim in JSON
///
/// A claim that changes is written to a free slot before its slot is freed. A daemon that is killed between the two leaves
/// both, and the newer one counts.
///
/// `@unchecked Sendable`: everything is under the lock of `state`.
final class ClaimSlots: @unchecked Sendable {
    /// How many claims can be kept, and how long each may be, in bytes: that of a few dozen items.
    static let count = 1024
    static let slotByteCount = 8192

    private enum Field {
        static let state = 0
        static let byteCount = 4
        static let sequence = 8
        static let claim = 16
    }

    private static let headByteCount = 16
    static let byteCount = headByteCount + count * slotByteCount

    private struct State {
        var slots: [ClaimSetID: Int32] = [:]
        /// The next one is the last.
        var free: [Int32] = []
        var lastSequence: UInt64 = 0
    }

    private let memory: UnsafeMutableRawPointer
    private let state = Mutex(State())
    private let encoder = JSONEncoder()
    /// Those that were left, in the order of their ids.
    let left: [HeldClaim]

    /// - Parameter memory: Of ``byteCount`` bytes: zeros, or what an earlier daemon has left.
    init(_ memory: UnsafeMutableRawPointer) {
        self.memory = memory
        let used = min(max(memory.load(as: Int32.self), 0), Int32(Self.count))
        var newest: [ClaimSetID: (slot: Int32, sequence: UInt64, claim: HeldClaim)] = [:]
        for slot in 0..<used {
            let start = memory + Self.start(slot)
            guard start.load(as: UInt32.self) == 1, let claim = Self.claim(at: start) else { continue }
            let sequence = start.load(fromByteOffset: Field.sequence, as: UInt64.self)
            if let known = newest[claim.id], known.sequence > sequence { continue }
            newest[claim.id] = (slot, sequence, claim)
        }
        left = newest.values.map(\.claim).sorted { $0.id.rawValue < $1.id.rawValue }
        let taken = Set(newest.values.map(\.slot))
        state.withLock { state in
            state.slots = newest.mapValues(\.slot)
            state.lastSequence = newest.values.map(\.sequence).max() ?? 0
            for slot in (0..<Int32(Self.count)).reversed() where !taken.contains(slot) {
                // The memory of what was never used takes no space.
                if slot < used { free(slot, &state) } else { state.free.append(slot) }
            }
        }
    }

    private static func claim(at start: UnsafeMutableRawPointer) -> HeldClaim? {
        let count = Int(start.load(fromByteOffset: Field.byteCount, as: UInt32.self))
        guard count <= slotByteCount - Field.claim else { return nil }
        return try? JSONDecoder().decode(HeldClaim.self, from: Data(bytes: start + Field.claim, count: count))
    }

    /// Keeps a claim in place of what was kept of it before.
    ///
    /// - Returns: Whether there was room for it; otherwise nothing is kept of it.
    func keep(_ claim: HeldClaim) -> Bool {
        state.withLock { state in
            let before = state.slots.removeValue(forKey: claim.id)
            defer { if let before { free(before, &state) } }
            guard let bytes = try? encoder.encode(claim), bytes.count <= Self.slotByteCount - Field.claim,
                let slot = state.free.popLast()
            else { return false }
            state.lastSequence += 1
            let start = memory + Self.start(slot)
            start.storeBytes(of: UInt32(bytes.count), toByteOffset: Field.byteCount, as: UInt32.self)
            start.storeBytes(of: state.lastSequence, toByteOffset: Field.sequence, as: UInt64.self)
            bytes.withUnsafeBytes { (start + Field.claim).copyMemory(from: $0.baseAddress!, byteCount: $0.count) }
            memory.storeBytes(of: max(slot + 1, memory.load(as: Int32.self)), as: Int32.self)
            setState(1, slot)
            state.slots[claim.id] = slot
            return true
        }
    }

    func remove(_ id: ClaimSetID) {
        state.withLock { state in
            if let slot = state.slots.removeValue(forKey: id) { free(slot, &state) }
        }
    }

    private func free(_ slot: Int32, _ state: inout State) {
        setState(0, slot)
        state.free.append(slot)
    }

    private func setState(_ value: UInt32, _ slot: Int32) {
        (memory + Self.start(slot) + Field.state).assumingMemoryBound(to: Atomic<UInt32>.self).pointee
            .store(value, ordering: .sequentiallyConsistent)
    }

    private static func start(_ slot: Int32) -> Int { headByteCount + Int(slot) * slotByteCount }
}
