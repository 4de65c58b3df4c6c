import ControlAPI
import ControlClient
import Glibc
import Linux
import Model

/// The versions of one item, as its container knows them.
struct ItemVersions {
    let url: URL
    private let place: (container: MountedContainer, path: String)?

    /// - Parameter url: Of the item; that of a stored version stands for its item.
    init(_ url: URL) {
        self.url = NSFileVersion.item(ofStored: url) ?? url
        place = MountedContainer.containing(self.url)
    }

    /// Relative to the container.
    var path: String { place?.path ?? "" }

    func client() throws(ControlError) -> BlockingControlClient {
        guard let place else { throw .refused(FileError(.unsupported, "\(url.path) is not in a container")) }
        guard let socket = place.container.socketPath else {
            throw .daemonUnreachable("there is no socket for \(place.container.mountpoint)")
        }
        return BlockingControlClient(socketPath: socket)
    }

    /// All versions, the current one first; empty outside a container and for items that are not files.
    ///
    /// The attribute is answered without a connection, and for mounts of other users too. It is limited to 64 KiB; the
    /// daemon's socket has no limit.
    func list() throws -> [ItemVersion] {
        guard place != nil else { return [] }
        do throws(FileError) {
            guard let text = try ExtendedAttribute.control("versions", of: url.path) else { return [] }
            return try Self.decode(text)
        } catch  where error.number == ERANGE || error.number == E2BIG {
            do throws(ControlError) {
                return try client().send(VersionsRequest(path: path))
            } catch {
                throw CocoaFailure.error(error, .reading, url)
            }
        } catch {
            throw CocoaFailure.error(error, .reading, url)
        }
    }

    private static func decode(_ text: String) throws(FileError) -> [ItemVersion] {
        do {
            return try JSONDecoder().decode([ItemVersion].self, from: Data(text.utf8))
        } catch {
            throw FileError(FailedCall("getxattr", EBADMSG))  // the daemon is of another version
        }
    }

    /// Whether there is an item at all; `false` too when its daemon has ended.
    var exists: Bool { (try? requireItem()) != nil }

    /// - Throws: `CocoaError` for a missing item, or when its daemon has ended.
    func requireItem() throws(CocoaError) {
        do throws(FileError) {
            _ = try FileStatus(of: url.path)
        } catch {
            throw CocoaFailure.error(error, .reading, url)
        }
    }
}
