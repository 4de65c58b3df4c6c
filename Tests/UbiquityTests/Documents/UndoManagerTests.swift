import Testing
import Ubiquity

@Suite struct UndoManagerTests {
    /// Something to change.
    final class Model {
        var value = 0
        let undoManager = UndoManager()

        init(groupsByEvent: Bool = false) { undoManager.groupsByEvent = groupsByEvent }

        func set(_ new: Int) {
            let old = value
            undoManager.registerUndo(withTarget: self) { $0.set(old) }
            value = new
        }

        func group(_ name: String = "", _ body: () -> Void) {
            undoManager.beginUndoGrouping()
            body()
            if !name.isEmpty { undoManager.setActionName(name) }
            undoManager.endUndoGrouping()
        }
    }

    @Test func `a group is undone and redone as a whole`() {
        let model = Model()
        model.group("Typing") {
            model.set(1); model.set(2)
        }
        model.group("Cutting") { model.set(3) }
        #expect(model.undoManager.undoMenuItemTitle == "Undo Cutting")
        #expect(!model.undoManager.canRedo)
        model.undoManager.undo()
        #expect(model.value == 2)
        #expect(model.undoManager.undoActionName == "Typing" && model.undoManager.redoActionName == "Cutting")
        model.undoManager.undo()
        #expect(model.value == 0 && !model.undoManager.canUndo && model.undoManager.undoMenuItemTitle == "Undo")
        model.undoManager.redo()
        #expect(model.value == 2 && model.undoManager.redoMenuItemTitle == "Redo Cutting")
        model.undoManager.redo()
        #expect(model.value == 3 && !model.undoManager.canRedo && model.undoManager.undoCount == 2)
        model.undoManager.undo()
        #expect(model.value == 2)
    }

    @Test func `a nested group is undone alone, or with the one around it`() {
        let model = Model()
        model.undoManager.beginUndoGrouping()
        model.set(1)
        model.group { model.set(2) }
        #expect(model.undoManager.groupingLevel == 1)
        model.undoManager.undoNestedGroup()
        #expect(model.value == 1)
        model.group { model.set(3) }
        model.undoManager.endUndoGrouping()
        model.undoManager.undo()
        #expect(model.value == 0)
        model.undoManager.redo()
        #expect(model.value == 3)
    }

    @Test func `a new change ends redoing`() {
        let model = Model()
        model.group { model.set(1) }
        model.undoManager.undo()
        #expect(model.undoManager.canRedo)
        model.group { model.set(2) }
        #expect(!model.undoManager.canRedo)
    }

    @Test func `only so many groups are kept`() {
        let model = Model()
        model.undoManager.levelsOfUndo = 2
        for value in 1...4 { model.group { model.set(value) } }
        for _ in 1...4 { model.undoManager.undo() }
        #expect(model.value == 2)
        #expect(model.undoManager.redoCount == 2)
    }

    @Test func `nothing is registered while registration is disabled`() {
        let model = Model()
        model.undoManager.disableUndoRegistration()
        model.undoManager.disableUndoRegistration()
        model.undoManager.enableUndoRegistration()
        #expect(!model.undoManager.isUndoRegistrationEnabled)
        model.group { model.set(1) }
        #expect(!model.undoManager.canUndo)
        model.undoManager.enableUndoRegistration()
        model.group { model.set(2) }
        model.undoManager.undo()
        #expect(model.value == 1)
    }

    @Test func `a target is held weakly, and its changes can be removed`() {
        let undoManager = UndoManager()
        undoManager.groupsByEvent = false
        weak var target: Model?
        var kept: [Model] = []
        do {
            let model = Model()
            target = model
            let other = Model()
            kept.append(other)
            undoManager.beginUndoGrouping()
            undoManager.registerUndo(withTarget: model) { _ in Issue.record("a change of a target that is gone") }
            undoManager.registerUndo(withTarget: other) { $0.value = 7 }
            undoManager.endUndoGrouping()
        }
        #expect(target == nil)
        undoManager.undo()
        #expect(kept[0].value == 7)
        undoManager.beginUndoGrouping()
        undoManager.registerUndo(withTarget: kept[0]) { $0.value = 8 }
        undoManager.endUndoGrouping()
        undoManager.removeAllActions(withTarget: kept[0])
        #expect(!undoManager.canUndo)
    }

    @Test func `removing all actions enables registration`() {
        let model = Model()
        model.group { model.set(1) }
        model.undoManager.disableUndoRegistration()
        model.undoManager.removeAllActions()
        #expect(!model.undoManager.canUndo && model.undoManager.isUndoRegistrationEnabled)
    }

    @Test @MainActor func `the changes of one turn of the main queue are one group`() async {
        let model = Model(groupsByEvent: true)
        model.set(1)
        model.set(2)
        #expect(model.undoManager.groupingLevel == 1)
        await nextTurn()
        #expect(model.undoManager.groupingLevel == 0)
        model.set(3)
        // Undoing closes the group of this turn.
        model.undoManager.undo()
        #expect(model.value == 2)
        model.undoManager.undo()
        #expect(model.value == 0)
        await nextTurn()
        #expect(model.undoManager.groupingLevel == 0 && model.undoManager.redoCount == 2)
    }

    @Test @MainActor func `a group that lasts several turns ends them together`() async {
        let model = Model(groupsByEvent: true)
        model.undoManager.beginUndoGrouping()
        model.set(1)
        await nextTurn()
        model.set(2)
        model.undoManager.endUndoGrouping()
        await nextTurn()
        #expect(model.undoManager.groupingLevel == 0)
        model.undoManager.undo()
        #expect(model.value == 0)
    }

    @Test func `observers are told of groups, undoing and redoing`() {
        let model = Model()
        let names = DocumentRecorder()
        let tokens = [
            NSNotification.Name.NSUndoManagerDidOpenUndoGroup, .NSUndoManagerWillCloseUndoGroup,
            .NSUndoManagerDidCloseUndoGroup, .NSUndoManagerWillUndoChange, .NSUndoManagerDidUndoChange,
            .NSUndoManagerWillRedoChange, .NSUndoManagerDidRedoChange,
        ].map { name in
            NotificationCenter.default.addObserver(forName: name, object: model.undoManager, queue: nil) {
                names.add($0.name.rawValue.replacing("NSUndoManager", with: "").replacing("Notification", with: ""))
            }
        }
        defer { tokens.forEach { NotificationCenter.default.removeObserver($0) } }
        model.group { model.set(1) }
        model.undoManager.undo()
        model.undoManager.redo()
        #expect(
            names.all == [
                "DidOpenUndoGroup", "WillCloseUndoGroup", "DidCloseUndoGroup", "WillUndoChange", "DidUndoChange",
                "WillRedoChange", "DidRedoChange",
            ])
        model.group {}
        #expect(names.all.suffix(2) == ["DidOpenUndoGroup", "WillCloseUndoGroup"])
    }

    @MainActor private func nextTurn() async {
        await withCheckedContinuation { continuation in DispatchQueue.main.async { continuation.resume() } }
    }
}
