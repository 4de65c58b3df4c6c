import Control
import FileSystem
import Foundation
import Glibc
import Model
import Replica
import Sync
import Testing

/// A deletion on one device and a change on another: the outcome is the same whichever commit is first.
@Suite(.virtualTime, .timeLimit(.minutes(10))) struct DeletionOrderTests {
    /// A change of `f`, a file with the bytes `text`, or of the empty file `lock`; both are deleted elsewhere.
    enum FileChange: String, CaseIterable {
        case opened, openedToWrite, truncatedWhileEmpty, sameBytes, savedWithSameBytes, touched, mode, attribute,
            attributeRemoved, renamed, moved, movedAndBack, linked, removed
        case edited, appended, truncated, saved, exchanged, retargeted, editedAndRenamed, editedAndMoved

        /// What is left, besides `other` and `place`, which nobody deletes.
        var survivors: [String: String] {
            switch self {
            case .edited: ["f": "edit"]
            case .appended: ["f": "textmore"]
            case .truncated: ["f": ""]
            case .saved: ["f": "saved"]
            case .exchanged: ["f": "other", "other": "text"]
            case .linked: ["second": "text"]
            case .retargeted: ["l": "new"]
            case .editedAndRenamed: ["g": "edit"]
            case .editedAndMoved: ["place/f": "edit"]
            default: [:]
            }
        }

        func make(on device: TestDevice) async throws {
            switch self {
            case .opened: try await device.close(try await device.open("lock", O_RDONLY))
            case .openedToWrite: try await device.close(try await device.open("lock", O_RDWR))
            case .truncatedWhileEmpty: try await device.close(try await device.open("lock", O_RDWR | O_TRUNC))
            case .sameBytes: try await device.write("text", to: "f")
            case .savedWithSameBytes:
                try await device.write("text", to: "new")
                try device.rename("new", to: "f")
            case .touched: try device.setModified(77, of: "f")
            case .mode: try device.setMode(0o600, of: "f")
            case .attribute: try await device.setOrdinaryAttribute("user.k", "v", of: "f")
            case .attributeRemoved: try await device.removeOrdinaryAttribute("user.old", of: "f")
            case .renamed: try device.rename("f", to: "g")
            case .moved: try device.rename("f", to: "place/f")
            case .movedAndBack:
                try device.rename("f", to: "place/f")
                try device.rename("place/f", to: "f")
            case .linked: try device.link("f", to: "second")
            case .removed: try device.remove("f")
            case .edited: try await device.write("edit", to: "f")
            case .appended:
                let handle = try await device.open("f", O_RDWR)
                try await device.write("more", to: handle, at: 4)
                try await device.close(handle)
            case .truncated: try await device.write("", to: "f")
            case .saved:
                try await device.write("saved", to: "new")
                try device.rename("new", to: "f")
            case .exchanged: try device.exchange("f", "other")
            case .retargeted:
                try device.makeSymbolicLink("l2", to: "new")
                try device.rename("l2", to: "l")
            case .editedAndRenamed:
                try await device.write("edit", to: "f")
                try device.rename("f", to: "g")
            case .editedAndMoved:
                try await device.write("edit", to: "f")
                try device.rename("f", to: "place/f")
            }
        }
    }

    @Test(arguments: FileChange.allCases, [false, true])
    func `a deletion of a file meets a change of it`(change: FileChange, isDeletedFirst: Bool) async throws {
        var pair = try await ConflictPair { device in
            try await device.write("text", to: "f")
            try await device.write("", to: "lock")
            try await device.write("other", to: "other")
            try device.makeDirectory("place")
            try device.makeSymbolicLink("l", to: "old")
            try await device.setOrdinaryAttribute("user.old", "v", of: "f")
        }
        for name in ["f", "lock", "other"] { try await pair.b.setAttribute("download", "wait", of: name) }
        let delete = { (device: TestDevice) in for name in ["f", "lock", "l"] { try device.remove(name) } }
        if isDeletedFirst {
            try await pair.meet(delete, change.make)
        } else {
            try await pair.meet(change.make, delete)
        }
        let expected = ["place": "/", "other": "other"].merging(change.survivors) { $1 }
        #expect(try await pair.tree() == expected)
        try await pair.close()
    }

    /// A change of or in `N`, which has a file `f`, an empty directory `e` and a file `s/g`, and is deleted elsewhere.
    enum DirectoryChange: String, CaseIterable {
        case file, directory, lock, mode, attribute, touched, renamed, moved, renamedInside, modeInside, removedInside,
            movedOut, deepFile, all
        case newFile, newDirectory, newLink, deepNewFile, edited, movedIn, directoryMovedIn, renamedWithNewFile,
            movedOutWithNewFile, secondName

        /// What is left, besides `other`, `place` and `full/x`, which nobody deletes.
        var survivors: [String: String] {
            switch self {
            case .newFile: ["N": "/", "N/new": "n"]
            case .newDirectory: ["N": "/", "N/new": "/"]
            case .newLink: ["N": "/", "N/new": "target"]
            case .deepNewFile: ["N": "/", "N/s": "/", "N/s/new": "n"]
            case .edited: ["N": "/", "N/s": "/", "N/s/g": "edit"]
            case .movedIn: ["N": "/", "N/other": "other"]
            case .directoryMovedIn: ["N": "/", "N/e": "/", "N/e/full": "/", "N/e/full/x": "x"]
            case .renamedWithNewFile: ["M": "/", "M/new": "n"]
            case .movedOutWithNewFile: ["place/s": "/", "place/s/new": "n"]
            case .secondName: ["N": "/", "N/other": "other"]
            default: [:]
            }
        }

        /// What is no longer at its place.
        var moved: Set<String> {
            switch self {
            case .movedIn: ["other"]
            case .directoryMovedIn: ["full", "full/x"]
            default: []
            }
        }

        func make(on device: TestDevice) async throws {
            switch self {
            case .file: try await Self.makeAndRemove("N/t", on: device)
            case .directory:
                try device.makeDirectory("N/t")
                try device.removeDirectory("N/t")
            case .lock: try await device.close(try await device.open("N/f", O_RDWR))
            case .mode: try device.setMode(0o700, of: "N")
            case .attribute: try await device.setOrdinaryAttribute("user.k", "v", of: "N")
            case .touched: try device.setModified(77, of: "N")
            case .renamed: try device.rename("N", to: "M")
            case .moved: try device.rename("N", to: "place/N")
            case .renamedInside: try device.rename("N/f", to: "N/h")
            case .modeInside: try device.setMode(0o600, of: "N/s/g")
            case .removedInside: try device.remove("N/f")
            case .movedOut: try device.rename("N/s", to: "place/s")
            case .deepFile: try await Self.makeAndRemove("N/e/t", on: device)
            case .all:
                try await Self.makeAndRemove("N/t", on: device)
                try device.setMode(0o700, of: "N")
                try device.rename("N", to: "M")
                try device.setModified(77, of: "M")
            case .newFile: try await device.write("n", to: "N/new")
            case .newDirectory: try device.makeDirectory("N/new")
            case .newLink: try device.makeSymbolicLink("N/new", to: "target")
            case .deepNewFile: try await device.write("n", to: "N/s/new")
            case .edited: try await device.write("edit", to: "N/s/g")
            case .movedIn: try device.rename("other", to: "N/other")
            case .directoryMovedIn: try device.rename("full", to: "N/e/full")
            case .renamedWithNewFile:
                try device.rename("N", to: "M")
                try await device.write("n", to: "M/new")
            case .movedOutWithNewFile:
                try device.rename("N/s", to: "place/s")
                try await device.write("n", to: "place/s/new")
            case .secondName: try device.link("other", to: "N/other")
            }
        }

        static func makeAndRemove(_ path: String, on device: TestDevice) async throws {
            try await device.write("temporary", to: path)
            try device.remove(path)
        }
    }

    private func pairWithDirectory() async throws -> ConflictPair {
        let pair = try await ConflictPair { device in
            for name in ["N", "N/e", "N/s", "place", "full"] { try device.makeDirectory(name) }
            for name in ["N/f", "N/s/g", "full/x", "other"] {
                try await device.write(name == "other" ? "other" : String(name.last!), to: name)
            }
        }
        for name in ["N/f", "N/s/g", "other"] { try await pair.b.setAttribute("download", "wait", of: name) }
        return pair
    }

    private func deleteTree(on device: TestDevice) throws {
        for name in ["N/f", "N/s/g"] { try device.remove(name) }
        for name in ["N/e", "N/s", "N"] { try device.removeDirectory(name) }
    }

    @Test(arguments: DirectoryChange.allCases, [false, true])
    func `a deletion of a tree meets a change in it`(change: DirectoryChange, isDeletedFirst: Bool) async throws {
        var pair = try await pairWithDirectory()
        if isDeletedFirst {
            try await pair.meet(deleteTree, change.make)
        } else {
            try await pair.meet(change.make, deleteTree)
        }
        var expected = ["place": "/", "other": "other", "full": "/", "full/x": "x"]
        for path in change.moved { expected[path] = nil }
        #expect(try await pair.tree() == expected.merging(change.survivors) { $1 })
        try await pair.close()
    }

    @Test func `a temporary file that was uploaded before it was removed does not keep a deleted directory`()
        async throws
    {
        var pair = try await pairWithDirectory()
        try await pair.meet(
            { device in
                try await device.write("temporary", to: "N/e/t")
                try await device.control.sync.sync(wait: true)
                try device.remove("N/e/t")
            }, deleteTree)
        #expect(try await pair.tree() == ["place": "/", "other": "other", "full": "/", "full/x": "x"])
        try await pair.close()
    }

    @Test func `what was changed elsewhere before its deletion is in the trash as it was changed`() async throws {
        var pair = try await pairWithDirectory()
        try await pair.meet(
            { device in
                try device.setMode(0o600, of: "N/f")
                try device.rename("N/f", to: "place/h")
            }, deleteTree)
        for device in [pair.a, pair.b] {
            let states = try device.fileSystem.replica.read { try $0.deletedItems() }.map(\.record)
            #expect(states.contains { $0.name.string == "h" && $0.mode == 0o600 })
            #expect(!states.contains { $0.name.string == "f" })
        }
        try await pair.close()
    }
}
