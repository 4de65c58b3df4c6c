/// The key of `userInfo` whose value says that the group that is closed is discardable.
public let NSUndoManagerGroupIsDiscardableKey = "NSUndoManagerGroupIsDiscardableKey"

extension NSNotification.Name {
    /// An ``UndoManager`` opens or closes a group, undoes, redoes, or is asked whether it can redo.
    public static let NSUndoManagerCheckpoint = NSNotification.Name("NSUndoManagerCheckpointNotification")
    /// A group was opened.
    public static let NSUndoManagerDidOpenUndoGroup = NSNotification.Name("NSUndoManagerDidOpenUndoGroupNotification")
    /// A group is about to be closed.
    public static let NSUndoManagerWillCloseUndoGroup = NSNotification.Name(
        "NSUndoManagerWillCloseUndoGroupNotification")
    /// A group was closed. Differences from Apple's: not posted for an empty one, which is discarded.
    public static let NSUndoManagerDidCloseUndoGroup = NSNotification.Name("NSUndoManagerDidCloseUndoGroupNotification")
    /// A group is about to be undone.
    public static let NSUndoManagerWillUndoChange = NSNotification.Name("NSUndoManagerWillUndoChangeNotification")
    /// A group was undone.
    public static let NSUndoManagerDidUndoChange = NSNotification.Name("NSUndoManagerDidUndoChangeNotification")
    /// A group is about to be redone.
    public static let NSUndoManagerWillRedoChange = NSNotification.Name("NSUndoManagerWillRedoChangeNotification")
    /// A group was redone.
    public static let NSUndoManagerDidRedoChange = NSNotification.Name("NSUndoManagerDidRedoChangeNotification")
}
