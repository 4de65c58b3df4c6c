import Synchronization

extension UIDocument {
    var currentUndoManager: UndoManager? {
        if let manager = record.withLock({ $0.undoManager }) { return manager.value }
        let manager = UndoManager()
        setUndoManager(manager)
        return manager
    }

    func setUndoManager(_ manager: UndoManager?) {
        removeUndoObservers()
        let observers = Carried(value: manager.map(observe) ?? [])
        let manager = Carried(value: manager)
        record.withLock {
            $0.undoManager = manager
            $0.undoObservers = observers
        }
    }

    func removeUndoObservers() {
        let observers = record.withLock { record in
            defer { record.undoObservers = nil }
            return record.undoObservers
        }
        for observer in observers?.value ?? [] { NotificationCenter.default.removeObserver(observer) }
    }

    /// Counts what the manager does as changes of the document.
    private func observe(_ manager: UndoManager) -> [any NSObjectProtocol] {
        let document = WeakDocument(self)
        func observer(_ name: Notification.Name, _ change: ChangeKind) -> any NSObjectProtocol {
            NotificationCenter.default.addObserver(forName: name, object: manager, queue: nil) { notification in
                guard let manager = notification.object as? UndoManager, manager.groupingLevel == 0,
                    !manager.isUndoing, !manager.isRedoing,
                    notification.userInfo?[NSUndoManagerGroupIsDiscardableKey] as? Bool != true
                else { return }
                document.document?.updateChangeCount(change)
            }
        }
        return [
            observer(.NSUndoManagerDidCloseUndoGroup, .done), observer(.NSUndoManagerDidUndoChange, .undone),
            observer(.NSUndoManagerDidRedoChange, .redone),
        ]
    }
}
