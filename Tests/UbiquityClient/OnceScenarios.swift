import Ubiquity

/// What another device does is heard once: the program is that of `a`.
enum OnceScenarios {
    private static let rounds = 5

    static func presented(_ test: Scenario) async throws {
        let file = test.a.appendingPathComponent("file.txt")
        try Data("text 0".utf8).write(to: file)
        let there = test.b.appendingPathComponent("file.txt")
        try await test.eventually("b has no file") { test.text(there) == "text 0" }
        let listener = Listener(file)
        let directory = Listener(test.a)
        NSFileCoordinator.addFilePresenter(listener)
        NSFileCoordinator.addFilePresenter(directory)
        for number in 1...rounds {
            try Data("text \(number)".utf8).write(to: there)
            try await test.eventually("\(listener.heard.value)") { count("changed", listener) == number }
            // Nor before the bytes can be read.
            try test.equal(test.text(file), "text \(number)")
        }
        let names = (0..<rounds).map { "new \($0).txt" }
        for name in names {
            try Data(name.utf8).write(to: test.b.appendingPathComponent(name))
            try await test.eventually("\(directory.heard.value)") { directory.hears("\(name) appeared") }
        }
        try test.run("mv", there.path, test.b.path + "/moved.txt")
        try await test.eventually("\(listener.heard.value)") { listener.hears("moved to moved.txt") }
        // Nothing comes later.
        try await Task.sleep(nanoseconds: 1_000_000_000)
        try test.equal(count("changed", listener), rounds)
        try test.equal(count("moved to moved.txt", listener), 1)
        try test.equal(count("file.txt moved to moved.txt", directory), 1)
        for name in names { try test.equal(count("\(name) appeared", directory), 1) }
        NSFileCoordinator.removeFilePresenter(listener)
        NSFileCoordinator.removeFilePresenter(directory)
    }

    private static func count(_ message: String, _ listener: Listener) -> Int {
        listener.heard.value.filter { $0 == message }.count
    }

    static func queried(_ test: Scenario) async throws {
        let documents = test.b.appendingPathComponent("Documents", isDirectory: true)
        try FileManager.default.createDirectory(at: documents, withIntermediateDirectories: true)
        let predicate = NSPredicate(format: "%K LIKE %@", NSMetadataItemFSNameKey, "*.doc")
        let recorder = QueryScenarios.Recorder(predicate, scopes: [NSMetadataQueryUbiquitousDocumentsScope])
        try await recorder.start(test)
        let names = (0..<rounds).map { "\($0).doc" }
        for name in names {
            try Data(name.utf8).write(to: documents.appendingPathComponent(name))
            try await test.eventually("\(recorder.added.value)") { recorder.added.value.last == name }
        }
        try test.run("mv", documents.path + "/0.doc", documents.path + "/moved.doc")
        try await test.eventually("\(recorder.changed.value)") { recorder.changed.value.contains("moved.doc") }
        for name in names.dropFirst() {
            try test.run("rm", "\(documents.path)/\(name)")
            try await test.eventually("\(recorder.removed.value)") { recorder.removed.value.last == name }
        }
        try await Task.sleep(nanoseconds: 1_000_000_000)
        try test.equal(recorder.added.value, names)
        try test.equal(recorder.removed.value, Array(names.dropFirst()))
        try test.equal(recorder.changed.value.filter { $0 == "moved.doc" }.count, 1)
        recorder.stop()
    }
}
