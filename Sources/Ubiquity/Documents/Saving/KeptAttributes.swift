import Glibc
import Model

/// The attributes that a file keeps when its bytes are replaced by those of another file.
enum KeptAttributes {
    /// Gives a new file the mode, the owner and the `user.*` attributes of the old one.
    ///
    /// Each as far as the caller may: a save does not fail because somebody else owns the file.
    static func copy(from path: String, _ old: ItemSignature, to staged: String) {
        if lchown(staged, old.owner, old.group) != 0 { errno = 0 }
        // After the owner, whose change clears the set-id bits.
        if chmod(staged, mode_t(old.permissions)) != 0 { errno = 0 }
        guard let source = DocumentAttributes(path: path), let target = DocumentAttributes(path: staged) else { return }
        source.copy(to: target)
    }
}
