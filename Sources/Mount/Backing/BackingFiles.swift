import Glibc
import Model
import Synchronization

/// The backing files that the kernel reads itself: one registration per inode, shared by its opens.
///
/// The kernel refuses a second backing file for an inode while one is open, so the number lives from the first
/// pass-through open to the last RELEASE.
final class BackingFiles: Sendable {
    private struct Backing {
        let number: Int32
        var openCount: Int
    }

    private struct State {
        var backings: [InodeNumber: Backing] = [:]
        /// Whether the kernel has refused one. Then none is registered any more: the kernel refuses to open a file with
        /// pass-through that is open without.
        var isRefused = false
    }

    private let state = Mutex(State())
    private let registrar: BackingRegistrar

    init(_ registrar: BackingRegistrar) { self.registrar = registrar }

    /// Returns the number of an inode's backing file, registering it with the first open.
    ///
    /// - Parameter refused: Called when the kernel refuses for the first time, with `errno`.
    /// - Returns: `nil` when the kernel refuses, or has refused before. Each success is followed by one
    ///   ``release(_:connection:)``.
    func acquire(
        _ inode: InodeNumber, descriptor: Int32, connection: Int32, refused: (Int32) -> Void
    ) -> Int32? {
        var refusal: Int32?
        defer { refusal.map(refused) }
        return acquire(inode, descriptor, connection, &refusal)
    }

    private func acquire(
        _ inode: InodeNumber, _ descriptor: Int32, _ connection: Int32, _ refusal: inout Int32?
    ) -> Int32? {
        state.withLock { state in
            if let backing = state.backings[inode] {
                state.backings[inode]?.openCount += 1
                return backing.number
            }
            guard !state.isRefused else { return nil }
            let number = registrar.register(descriptor, connection: connection)
            guard number > 0 else {
                refusal = -number
                state.isRefused = true
                return nil
            }
            state.backings[inode] = Backing(number: number, openCount: 1)
            return number
        }
    }

    /// Takes over a registration of the daemon before, once for each handle that holds it: the connection keeps it, and the
    /// kernel refuses another one of that file.
    func restore(_ inode: InodeNumber, _ number: Int32) {
        state.withLock { state in
            state.backings[inode] = Backing(number: number, openCount: (state.backings[inode]?.openCount ?? 0) + 1)
        }
    }

    func release(_ inode: InodeNumber, connection: Int32) {
        state.withLock { state in
            guard var backing = state.backings[inode] else { return }
            backing.openCount -= 1
            if backing.openCount > 0 {
                state.backings[inode] = backing
            } else {
                state.backings[inode] = nil
                registrar.unregister(backing.number, connection: connection)
            }
        }
    }
}
