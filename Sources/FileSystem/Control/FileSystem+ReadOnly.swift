package import Model
import Replica
import Sync

/// A mount that refuses changes, and a device whose changes the store refuses.
extension FileSystem {
    /// Why the mount refuses changes; `nil` when it does not.
    package var readOnly: ContainerStatus.ReadOnly? {
        // The stronger reason: nothing leaves this device either.
        if let refusal = syncEngine.context.storeRefusal { return .init(.store, detail: refusal) }
        return options.isReadOnly ? .init(.option) : nil
    }

    /// Returns when changes of the container can leave this device.
    ///
    /// - Throws: ``FileError`` with `readOnly` when the store refuses writing: the change would never arrive.
    package func requireWritableContainer() throws(FileError) {
        if let sentence = syncEngine.context.readOnlySentence { throw FileError(.readOnly, sentence) }
    }

    /// What was changed while the store let this device write, and cannot leave now, in a sentence; `nil` for nothing.
    var stuckChanges: String? {
        // An index that cannot be read is a problem of its own, which its readers report.
        guard readOnly?.reason == .store, let count = try? replica.waitingCount(), count > 0 else { return nil }
        let changes = count == 1 ? "1 change waits" : "\(count) changes wait"
        return "\(changes) here and cannot leave, since the store refuses writing; a mount that may write uploads them"
    }
}
