import Model

/// Whether a new item can have its name in a directory of the container: no existing item is ever overwritten.
///
///     in the container      new item
///     nothing               any             free
///     directory             directory       present: the two are one
///     file                  file            present when the bytes are equal
///     symbolic link         symbolic link   present when the targets are equal
///     anything else         any             taken
///
/// Names are compared by their bytes, as everywhere: `a` and `A` are two names.
enum ImportConflict: Equatable {
    case free
    /// It exists already, as this item.
    case present(ItemID)
    case taken

    /// The item that has a name.
    struct Occupant {
        let item: ItemID
        let kind: ItemKind
        var target: LinkTarget?
        /// Of a file; `nil` when its chunk list is unavailable.
        var content: Content?
    }

    /// - Parameter content: The content of a new file.
    init(kind: ItemKind, target: LinkTarget?, content: Content?, meeting occupant: Occupant?) {
        guard let occupant else {
            self = .free
            return
        }
        let isSame =
            switch (kind, occupant.kind) {
            case (.directory, .directory): true
            case (.file, .file):
                if let content, let other = occupant.content { content.hasSameBytes(as: other) } else { false }
            case (.symbolicLink, .symbolicLink): target != nil && target == occupant.target
            default: false
            }
        self = isSame ? .present(occupant.item) : .taken
    }
}
