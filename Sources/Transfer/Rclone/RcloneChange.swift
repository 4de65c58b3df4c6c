import Model
import Replica

/// What an import does with a file of a remote: a pure function of the listing and of the item that has the name.
///
///     in the container                              file of the remote
///     nothing                                       new
///     file with its length and time                 unchanged
///     file with other ones, its bytes imported      changed: it replaces the bytes
///     file with other ones, its bytes from here     kept: the container's stays
///     anything else                                 kept
///
/// The container itself is the memory of earlier imports. An imported file has the time that the remote gave, and its
/// bytes have the remote as the device that made them. Whoever edits it in the container makes other bytes, so that an
/// edit is recognised whatever its time and length, on every machine and without a state of the import's own.
enum RcloneChange: Equatable {
    case new
    case unchanged
    /// - Parameters:
    ///   - base: The item as it is.
    ///   - number: The commit that made it so.
    case changed(base: ItemRecord, number: CommitNumber)
    /// - Parameter reason: For people.
    case kept(reason: String)

    /// - Parameters:
    ///   - entry: The item that has the name; `nil` for none.
    ///   - maker: The remote.
    init(_ item: RcloneItem, meeting entry: Entry?, maker: DeviceID) {
        guard let entry else {
            self = .new
            return
        }
        guard entry.kind == .file, let base = entry.base else {
            self = .kept(reason: "the container has a \(Self.noun(entry.kind)) of this name, which is kept")
            return
        }
        // A document without a length has a time.
        if base.modified == item.modified, item.byteCount.map({ $0 == base.size }) ?? true {
            self = .unchanged
        } else if base.maker == maker {
            self = .changed(base: base, number: entry.baseNumber)
        } else {
            self = .kept(
                reason: "the container has another version, which was made there and is kept; rename or remove "
                    + "it to import that of the remote")
        }
    }

    static func noun(_ kind: ItemKind) -> String {
        switch kind {
        case .directory: "directory"
        case .symbolicLink: "symbolic link"
        case .file, .fifo, .socket, .characterDevice, .blockDevice: "file"
        }
    }
}
