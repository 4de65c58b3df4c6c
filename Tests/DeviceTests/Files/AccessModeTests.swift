import FileSystem
import Glibc
import Linux
import Model
import Replica
import TestStores
import Testing

/// How the kernel accesses an open file where pass-through is available.
@Suite(.virtualTime, .timeLimit(.minutes(2))) struct AccessModeTests {
    private func device() async throws -> TestDevice {
        let device = try await TestDevice.start(on: MemoryStore(), name: "A")
        device.fileSystem.enablePassthrough()
        return device
    }

    private func open(_ path: String, _ flags: Int32, on device: TestDevice) async throws -> (HandleID, String) {
        let request = OpenRequest(inode: try device.inode(path), flags: flags, caller: TestDevice.caller)
        let opened = try await device.value(device.fileSystem.open(request))
        return (opened.handle, name(opened.access))
    }

    /// - Returns: `nil` when the open waits.
    private func openNow(_ request: OpenRequest, on device: TestDevice) throws -> HandleID? {
        guard case .ready(let opened) = try device.fileSystem.open(request) else { return nil }
        return opened.handle
    }

    private func name(_ access: OpenAccess) -> String {
        switch access {
        case .cached(let keepsCache): keepsCache ? "cached, kept" : "cached"
        case .direct: "direct"
        case .passthrough(_, let alsoDirect): alsoDirect ? "passed through, direct" : "passed through"
        }
    }

    /// How a file is accessed by one open after the other, all open at the same time.
    private func access(of path: String, by opens: Int32..., on device: TestDevice) async throws -> [String] {
        var handles: [HandleID] = []
        var names: [String] = []
        for flags in opens {
            let (handle, name) = try await open(path, flags, on: device)
            handles.append(handle)
            names.append(name)
        }
        for handle in handles { try await device.close(handle) }
        return names
    }

    @Test func `the first open of a file decides how everybody accesses it until the last close`() async throws {
        let device = try await device()
        try await device.write("bytes", to: "f")
        for writing in [O_RDWR, O_WRONLY | O_APPEND, O_RDWR | O_TRUNC, O_RDONLY | O_TRUNC] {
            #expect(
                try await access(of: "f", by: O_RDONLY, O_RDWR, O_RDONLY, on: device)
                    == ["passed through", "passed through, direct", "passed through"])
            #expect(
                try await access(of: "f", by: writing, O_RDONLY, O_RDWR, on: device)
                    == ["cached", "cached", "cached"], "\(writing)")
        }
        try await device.close()
    }

    @Test func `a created file is cached for everybody`() async throws {
        let device = try await device()
        let created = try await device.value(
            device.fileSystem.create(
                ItemName("f"), in: .root, mode: 0o644, flags: O_WRONLY, by: TestDevice.caller)
        ).1
        #expect(name(created.access) == "cached")
        #expect(try await access(of: "f", by: O_RDONLY, O_RDWR, on: device) == ["cached", "cached"])
        try await device.close(created.handle)
        try await device.close()
    }

    @Test func `cached pages are kept from one open to the next once they are those of the mode`() async throws {
        let device = try await device()
        try await device.write("bytes", to: "f")
        let (writer, first) = try await open("f", O_RDWR, on: device)
        #expect(first == "cached", "pages from before a time of pass-through may be old")
        #expect(try await access(of: "f", by: O_RDONLY, on: device) == ["cached"], "that open was not used yet")
        #expect(try await device.read(writer) == "bytes")
        #expect(try await access(of: "f", by: O_RDONLY, O_RDWR, on: device) == ["cached, kept", "cached, kept"])
        try await device.close(writer)
        #expect(try await access(of: "f", by: O_RDWR, on: device) == ["cached"])
        try await device.close()
    }

    @Test(arguments: [PROT_READ, PROT_READ | PROT_WRITE])
    func `a file of which a map is left is passed through to writers too`(protection: Int32) async throws {
        let device = try await device()
        try await device.write("bytes", to: "f")
        let flags = protection == PROT_READ ? O_RDONLY : O_RDWR
        let (reader, _) = try await open("f", O_RDONLY, on: device)
        let (writer, _) = try await open("f", O_RDWR, on: device)
        // As the kernel does it for a program.
        let number = try device.fileSystem.replica.openBytes(of: try device.inode("f")).rawValue
        let backing = Glibc.open("/proc/self/fd/\(number)", flags | O_CLOEXEC)
        try #require(backing >= 0)
        let map = mmap(nil, 5, protection, MAP_SHARED, backing, 0)
        try #require(map != MAP_FAILED)
        Glibc.close(backing)
        try await device.close(writer)
        try await device.close(reader)
        #expect(
            try await access(of: "f", by: O_RDWR, O_RDONLY, on: device) == ["passed through, direct", "passed through"])
        munmap(map, 5)
        #expect(try await access(of: "f", by: O_RDWR, O_RDONLY, on: device) == ["cached", "cached"])
        try await device.close()
    }

    @Test func `an upload that reads a file does not keep its next writer from the page cache`() async throws {
        let device = try await device()
        try await device.write("bytes", to: "f")
        let (reader, _) = try await open("f", O_RDONLY, on: device)
        let upload = try device.fileSystem.replica.openBytes(of: try device.inode("f"))
        try await device.close(reader)
        #expect(try await access(of: "f", by: O_RDWR, on: device) == ["cached"])
        withExtendedLifetime(upload) {}
        try await device.close()
    }

    @Test func `a writer waits for the release of a reader that has closed the file, but not for long`() async throws {
        let device = try await device()
        try await device.write("bytes", to: "f")
        let (reader, _) = try await open("f", O_RDONLY, on: device)
        try device.fileSystem.flush(reader, lockOwner: 0, by: TestDevice.caller)
        let request = OpenRequest(inode: try device.inode("f"), flags: O_RDWR, caller: TestDevice.caller)
        // One of two copies of the descriptor was closed: the writer is bound to the reader's mode.
        let (writer, access) = try await open("f", O_RDWR, on: device)
        #expect(access == "passed through, direct")
        try await device.close(writer)
        let again = try #require(try openNow(request, on: device), "it waits again for what has not come")
        device.fileSystem.release(again, flockOwner: nil, by: TestDevice.caller)
        // A close since then may be that of the last.
        let (last, _) = try await open("f", O_RDONLY, on: device)
        try device.fileSystem.flush(last, lockOwner: 0, by: TestDevice.caller)
        let answer = try device.fileSystem.open(request)
        guard case .pending(let wait) = answer else {
            Issue.record("it does not wait")
            return
        }
        for handle in [reader, last] {
            device.fileSystem.release(handle, flockOwner: nil, by: TestDevice.caller)
        }
        let opened = try await wait()
        #expect(name(opened.access) == "cached")
        try await device.close(opened.handle)
        try await device.close()
    }

    @Test func `a writer whose file is replaced whenever its open waits is refused once, not twice`() async throws {
        let device = try await device()
        try await device.write("bytes", to: "f")
        /// Replaces the file while the open of a writer waits for a reader that has closed it.
        func openReplaced(_ text: String) async throws -> OpenedFile {
            let (reader, _) = try await open("f", O_RDONLY, on: device)
            defer { device.fileSystem.release(reader, flockOwner: nil, by: TestDevice.caller) }
            try device.fileSystem.flush(reader, lockOwner: 0, by: TestDevice.caller)
            let request = OpenRequest(
                inode: try device.inode("f"), flags: O_WRONLY | O_APPEND, caller: Caller(thread: 1, user: 0, group: 0))
            let answer = try device.fileSystem.open(request)
            try await device.write(text, to: "saving")
            try device.rename("saving", to: "f")
            return try await device.value(answer)
        }
        func isRefused(_ text: String) async throws -> Bool {
            do {
                try await device.close(try await openReplaced(text).handle)
                return false
            } catch let error as FileError {
                #expect(
                    error.errno == ESTALE && error.detail.hasSuffix("was replaced or removed while its open waited"))
                return true
            }
        }
        #expect(try await isRefused("one"))
        let opened = try await openReplaced("two")
        try await device.write("lost, as on ext4", to: opened.handle, at: 0)
        try await device.close(opened.handle)
        #expect(try await device.read("f") == "two")
        // What was opened counts anew.
        #expect(try await isRefused("three"))
        try await device.close()
    }

    @Test func `a placeholder is direct for those who read it, until the last close`() async throws {
        let device = try await device()
        try await device.write("bytes", to: "f")
        try await converge(device)
        try await device.setAttribute("evict", "1", of: "f")
        let (reader, first) = try await open("f", O_RDONLY, on: device)
        #expect(first == "direct")
        #expect(try await device.read(reader) == "bytes")
        #expect(try await access(of: "f", by: O_RDONLY, O_RDWR, on: device) == ["direct", "cached"])
        try await device.close(reader)
        #expect(try await holds { try device.fileSystem.replica.read { try $0.isLocal($0.resolve("f")) } })
        #expect(try await access(of: "f", by: O_RDONLY, on: device) == ["passed through"])
        try await device.close()
    }

    @Test func `a copy into a file that is passed through has bytes of its own`() async throws {
        let device = try await device()
        try await device.write("bytes", to: "f")
        try await device.write("", to: "copy")
        try await converge(device)
        try await device.setAttribute("evict", "1", of: "f")
        let (reader, _) = try await open("copy", O_RDONLY, on: device)
        let (target, _) = try await open("copy", O_WRONLY | O_APPEND, on: device)
        let (source, _) = try await open("f", O_RDONLY, on: device)
        #expect(try await device.copy(from: source, to: target) == 5)
        #expect(try await access(of: "copy", by: O_RDONLY, on: device) == ["passed through"])
        for handle in [reader, target, source] { try await device.close(handle) }
        #expect(try await device.read("copy") == "bytes")
        try await device.close()
    }
}
