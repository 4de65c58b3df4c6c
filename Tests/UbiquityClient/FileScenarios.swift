import Ubiquity

/// FileManager's calls for containers, resource values, and the members that Foundation on Linux lacks or breaks.
enum FileScenarios {
    static func containers(_ test: Scenario) async throws {
        let files = FileManager.default
        let root = files.url(forUbiquityContainerIdentifier: "iCloud.org.dewpoint.Tests")
        try test.equal(root?.path, test.a.path)
        try test.equal(files.url(forUbiquityContainerIdentifier: nil)?.path, test.a.path)
        try test.check(files.url(forUbiquityContainerIdentifier: "iCloud.org.dewpoint.None") == nil, "it is mounted")
        let token = files.ubiquityIdentityToken
        try test.check(token != nil && token!.isEqual(files.ubiquityIdentityToken), "\(String(describing: token))")
        try test.check(!files.isUbiquitousItem(at: test.directory), "\(test.directory.path) is ubiquitous")
    }

    static func downloads(_ test: Scenario) async throws {
        let files = FileManager.default
        let byteCount = 3_000_000
        let large = test.a.appendingPathComponent("large")
        try Data(repeating: 7, count: byteCount).write(to: large)
        let copy = test.b.appendingPathComponent("large")
        let keys: Set<URLResourceKey> = [
            .ubiquitousItemDownloadingStatusKey, .ubiquitousItemIsUploadedKey, .fileSizeKey, .isUbiquitousItemKey,
        ]
        try await test.eventually("a has not uploaded it") {
            try large.resourceValues(forKeys: keys).ubiquitousItemIsUploaded == true
        }
        try await test.eventually("b has no such file") { files.fileExists(atPath: copy.path) }
        let values = try copy.resourceValues(forKeys: keys)
        try test.equal(values.ubiquitousItemDownloadingStatus, .notDownloaded)
        try test.equal(values.fileSize, byteCount)
        try test.equal(values.isUbiquitousItem, true)
        try files.startDownloadingUbiquitousItem(at: copy)
        try await test.eventually("it was not downloaded") {
            try copy.resourceValues(forKeys: keys).ubiquitousItemDownloadingStatus == .current
        }
        // A second request has no effect.
        try files.startDownloadingUbiquitousItem(at: copy)
        // Evicting within coordination neither deadlocks nor removes what is claimed.
        let failure = Box<Int?>(nil)
        NSFileCoordinator().coordinate(readingItemAt: copy, error: nil) { url in
            do { try files.evictUbiquitousItem(at: url) } catch { failure.value = (error as NSError).code }
        }
        try test.check(failure.value != nil, "evicted under a claim")
        try files.evictUbiquitousItem(at: copy)
        try test.equal(try copy.resourceValues(forKeys: keys).ubiquitousItemDownloadingStatus, .notDownloaded)
        try test.equal(try copy.promisedItemResourceValues(forKeys: [.fileSizeKey]).fileSize, byteCount)
        try test.equal(try Data(contentsOf: copy).count, byteCount)
        // Outside a container.
        try test.equal(try test.directory.resourceValues(forKeys: keys).isUbiquitousItem, false)
        try test.check(throwsCode(of: { try files.evictUbiquitousItem(at: test.directory) }) != nil, "no error")
    }

    static func moves(_ test: Scenario) async throws {
        let files = FileManager.default
        let tree = test.directory.appendingPathComponent("tree", isDirectory: true)
        try files.createDirectory(at: tree.appendingPathComponent("d"), withIntermediateDirectories: true)
        try Data("a".utf8).write(to: tree.appendingPathComponent("d/f"))
        let inside = test.a.appendingPathComponent("tree", isDirectory: true)
        try files.setUbiquitous(true, itemAt: tree, destinationURL: inside)
        try test.check(!files.fileExists(atPath: tree.path), "the source is still there")
        let copy = test.b.appendingPathComponent("tree", isDirectory: true)
        try await test.eventually("b has no tree") { files.fileExists(atPath: copy.appendingPathComponent("d/f").path) }
        // Out of the container again, from the device that has not downloaded it.
        try files.setUbiquitous(false, itemAt: copy, destinationURL: tree)
        try test.equal(test.text(tree.appendingPathComponent("d/f")), "a")
        try await test.eventually("a still has it") { !files.fileExists(atPath: inside.path) }

        // Replacing keeps the item, and never loses the new bytes.
        let file = test.a.appendingPathComponent("f.txt")
        try Data("old".utf8).write(to: file)
        let place = try files.url(
            for: .itemReplacementDirectory, in: .userDomainMask, appropriateFor: file, create: true)
        let new = place.appendingPathComponent("f.txt")
        try Data("new".utf8).write(to: new)
        _ = try files.replaceItemAt(file, withItemAt: new)
        try test.equal(test.text(file), "new")
        let outside = test.directory.appendingPathComponent("new")
        try Data("outside".utf8).write(to: outside)
        _ = try files.replaceItemAt(file, withItemAt: outside)
        try test.equal(test.text(file), "outside")
        try await test.eventually("b has other bytes") {
            test.text(test.b.appendingPathComponent("f.txt")) == "outside"
        }
        try test.check(
            throwsCode(of: { _ = try files.url(forPublishingUbiquitousItemAt: file, expiration: nil) })
                == CocoaError.featureUnsupported.rawValue, "published")
    }

    static func throwsCode(of body: () throws -> Void) -> Int? {
        do {
            try body()
            return nil
        } catch { return (error as NSError).code }
    }
}
