package import Model
import Synchronization

/// Locates the bytes of packs: in `packs/UUID`, or in the neighbour that `adopted/UUID` names.
///
/// The id determines which: those of adopted objects have version 8 (RFC 9562). An older pack may have it too by
/// chance, so without an `adopted/UUID` the pack is tried. For all other packs no additional request is needed.
package final class PackStore: Sendable {
    /// For how many packs the location is remembered: some 200 bytes each.
    static let memoryLimit = 4096

    private enum PackLocation {
        case pack
        case neighbour(NeighbourObject)
    }

    private let store: any ObjectStore
    private let state = Mutex(State())

    private struct State {
        var places: [PackID: PackLocation] = [:]
        /// The packs whose location is being read: others wait for it.
        var sought: [PackID: Signal] = [:]
    }

    package init(store: any ObjectStore) { self.store = store }

    /// Streams bytes of a pack; they are not verified.
    ///
    /// - Throws: ``StoreError`` with `notFound` when there is no such pack, `corrupt` when an adopted object is gone.
    func get(_ pack: PackID, range: Range<Int64>) async throws(StoreError) -> ByteStream {
        switch try await place(of: pack) {
        case .pack: return try await store.get(Pack.key(pack), range: range)
        case .neighbour(let object):
            do throws(StoreError) {
                return try await store.get(.neighbour(object.key), range: range)
            } catch {
                throw error.code == .notFound ? Self.gone(object) : error
            }
        }
    }

    /// The current length of a pack in the store, in bytes.
    ///
    /// - Throws: ``StoreError`` with `notFound` when there is no such pack, `corrupt` when an adopted object is missing
    ///   or was replaced.
    package func byteCount(of pack: PackID) async throws(StoreError) -> Int64 {
        switch try await place(of: pack) {
        case .pack: return try await store.byteCount(of: Pack.key(pack))
        case .neighbour(let object):
            let found: NeighbourObject
            do throws(StoreError) { found = try await store.head(.neighbour(object.key)).neighbour } catch {
                throw error.code == .notFound ? Self.gone(object) : error
            }
            guard found == object else {
                throw StoreError(
                    .corrupt, key: object.key, "\(object.key) was changed or replaced since it was adopted")
            }
            return found.byteCount
        }
    }

    /// The error for a chunk that does not match its hash.
    func damage(_ stored: Content.Piece.Stored, byteCount: Int) -> StoreError {
        if case .neighbour(let object)? = state.withLock({ $0.places[stored.pack] }) {
            return StoreError(
                .corrupt, key: object.key,
                "\(object.key) has other bytes than when it was adopted: the \(byteCount)-byte chunk at offset "
                    + "\(stored.offset) does not have the hash \(stored.hash)")
        }
        return StoreError(
            .corrupt, key: Pack.key(stored.pack),
            "the \(byteCount)-byte chunk at offset \(stored.offset) does not have the hash \(stored.hash)")
    }

    /// The object of the bucket that is a pack; `nil` for a pack of our own.
    /// - Throws: ``StoreError`` with `corrupt` when the note of it cannot be read, `invalid` when that has a newer
    ///   format.
    package func neighbour(of pack: PackID) async throws(StoreError) -> NeighbourObject? {
        guard case .neighbour(let object) = try await place(of: pack) else { return nil }
        return object
    }

    // MARK: Writing

    /// Notes that a pack's bytes are those of a neighbour.
    ///
    /// - Parameter pack: A new id from ``PackID/adopted(_:)``.
    /// - Throws: ``StoreError`` with `invalid` for an object that cannot be a pack, `preconditionFailed` when the id is
    ///   taken.
    package func adopt(_ object: NeighbourObject, as pack: PackID) async throws(StoreError) {
        let key = Pack.adoptedKey(pack)
        if let fault = object.fault { throw StoreError(.invalid, key: object.key, fault) }
        try await store.create(key, .bytes(try ContainerCoding.encode(object, key: key)))
    }

    // MARK: Private

    /// The longest `adopted/UUID` that is read: 16 KiB.
    private static let byteLimit = 16 << 10

    private static func gone(_ object: NeighbourObject) -> StoreError {
        StoreError(.corrupt, key: object.key, "\(object.key), whose bytes were adopted, is missing")
    }

    private func place(of pack: PackID) async throws(StoreError) -> PackLocation {
        guard pack.mayBeAdopted else { return .pack }
        while case .sought(let signal) = begin(pack) {
            // Cancelled: the request below says so.
            guard await signal.wait(since: 0) else { break }
        }
        if let known = state.withLock({ $0.places[pack] }) { return known }
        defer { state.withLock { $0.sought.removeValue(forKey: pack) }?.raise() }
        let place = try await find(pack)
        state.withLock { state in
            // Evicted locations are read again on demand.
            if state.places.count >= Self.memoryLimit { state.places = [:] }
            state.places[pack] = place
        }
        return place
    }

    private enum Beginning {
        /// It is known, or the caller is to read it.
        case own
        case sought(Signal)
    }

    private func begin(_ pack: PackID) -> Beginning {
        state.withLock { state in
            if state.places[pack] != nil { return .own }
            if let signal = state.sought[pack] { return .sought(signal) }
            state.sought[pack] = Signal()
            return .own
        }
    }

    private func find(_ pack: PackID) async throws(StoreError) -> PackLocation {
        let key = Pack.adoptedKey(pack)
        let text: [UInt8]
        do throws(StoreError) {
            text = try await store.get(key, range: nil).collect(upTo: Self.byteLimit)
        } catch {
            guard error.code == .notFound else { throw error }
            return .pack
        }
        let object = try ContainerCoding.decode(NeighbourObject.self, from: text, key: key)
        if let fault = object.fault { throw StoreError(.corrupt, key: key, fault) }
        return .neighbour(object)
    }
}
