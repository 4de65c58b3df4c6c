import Control
import FileSystem
import Foundation
import Glibc
import Model
import TestStores
import Testing

/// Changed files whose bytes cannot be read on their own disk.
@Suite(.virtualTime, .timeLimit(.minutes(5))) struct UnreadableFileTests {
    /// What became of the file in the backing directory.
    enum Loss: CaseIterable, Sendable {
        case missing, replaced

        var reason: String {
            switch self {
            case .missing: "it cannot be read: open f: No such file or directory"
            case .replaced: "it cannot be read: f in the backing directory is not the file we created"
            }
        }
    }

    @Test(arguments: Loss.allCases)
    func `a changed file that cannot be read says so, holds nothing up, and is uploaded once it can be read`(
        loss: Loss
    ) async throws {
        let store = MemoryStore()
        let log = TestLog()
        let a = try await TestDevice.start(on: store, name: "A", logger: log.logger)
        let b = try await TestDevice.start(on: store, name: "B")
        try a.control.commands.setPaused(.root, true)
        try await a.write("precious", to: "f")
        try await a.write("other", to: "g")
        let (place, away) = ("\(a.state)/files/f", "\(a.state)/away")
        #expect(Glibc.rename(place, away) == 0)
        if loss == .replaced { try Data("not it".utf8).write(to: URL(filePath: place)) }
        try a.control.commands.setPaused(.root, false)
        #expect(
            try await holds {
                let fault = try a.control.states.itemStatus("f").uploadingError
                let isOtherUploaded = try a.control.states.itemStatus("g").isUploaded
                return fault == ItemFault(code: 256, text: loss.reason) && isOtherUploaded
            })
        await #expect(throws: FileError(.inputOutput, loss.reason)) { try await a.control.sync.sync(wait: true) }
        #expect(Glibc.rename(away, place) == 0)
        // By itself, within a minute of the first attempt.
        #expect(try await holds { try a.control.states.itemStatus("f").isUploaded })
        #expect(log.count("item cannot be uploaded") == 1)
        try await converge(a, b)
        #expect(try await b.tree() == ["f": "precious", "g": "other"])
        try await a.close()
        try await b.close()
    }
}
