import FileSystem
import Model
import Replica

/// Names and attributes.
extension Program {
    mutating func makeDirectory() throws {
        let place = try place(existing: 0)
        _ = try fileSystem.makeDirectory(place.name, in: place.parent, mode: 0o755, by: caller)
    }

    mutating func removeDirectory() throws {
        let (place, attributes) = try taken([.directory])
        world.trace.note("\(device.name) removes \(place)")
        try fileSystem.removeDirectory(place.name, in: place.parent, by: caller).atOnce()
        try forget(attributes.inode)
    }

    mutating func remove() async throws {
        let (place, attributes) = try taken([.file, .symbolicLink])
        // The bytes are kept under another name; the name's conflict versions are not.
        let before =
            attributes.linkCount == 1
            ? try device.everything(of: attributes.inode)
            : try device.conflictVersions(at: place.name, in: place.parent)
        try await change(before: before, after: []) {
            world.trace.note("\(device.name) removes \(place)")
            try fileSystem.removeFile(place.name, in: place.parent, by: caller).atOnce()
        }
        try forget(attributes.inode)
    }

    /// The kernel forgets an inode without a name, at once or later, unless it is open.
    private mutating func forget(_ number: InodeNumber) throws {
        nameless.append(number)
        guard random.happens(0.7) else { return }
        for number in nameless where !files.contains(where: { $0.inode == number }) { try fileSystem.forget(number) }
        nameless = []
    }

    mutating func rename(_ kinds: [ItemKind], mode: RenameMode) async throws {
        let (source, _) = try taken(kinds)
        try await move(source, to: try place(existing: 0.4), mode: mode)
    }

    mutating func move(_ source: ResolvedPath, to target: ResolvedPath, mode: RenameMode) async throws {
        guard let moved = source.attributes else { throw FileError(.notFound, "\(source)") }
        var lost: [FileContent] = []
        if mode == .replace, let replaced = target.attributes, replaced.inode != moved.inode,
            replaced.kind != .directory
        {
            // The name keeps its item when both are of one kind: then the removal of incoming bytes is not seen.
            switch (replaced.linkCount == 1, replaced.kind == moved.kind) {
            case (true, true): lost = [try device.content(of: replaced.inode)]
            case (true, false): lost = try device.everything(of: replaced.inode)
            case (false, true): break
            case (false, false): lost = try device.conflictVersions(at: target.name, in: target.parent)
            }
        }
        let versions = try device.conflictVersions(at: source.name, in: source.parent)
        try await change(before: lost, after: []) {
            world.trace.note("\(device.name) renames \(source) to \(target)")
            try fileSystem.rename(
                source.name, in: source.parent, to: target.name, in: target.parent, mode: mode, by: caller
            ).atOnce()
        }
        try noteRemoval(versions, at: target)
        if moved.kind == .file, !device.isDead {
            world.model.noteMove(of: try device.content(of: moved.inode), to: target.name, on: device.name)
        }
        guard let replaced = target.attributes, replaced.inode != moved.inode, mode == .replace else { return }
        if moved.kind == .symbolicLink, replaced.kind == .symbolicLink {
            world.model.release(try device.content(of: moved.inode))
        }
        try forget(replaced.inode)
    }

    /// An item that moves to a local-only name leaves the container with its conflict versions, as the user intends.
    private func noteRemoval(_ versions: [FileContent], at place: ResolvedPath) throws {
        guard !versions.isEmpty, try fileSystem.replica.entry(place.name, in: place.parent).item == nil else { return }
        world.model.note(device.isDead ? .unknown : .done, before: versions, after: [])
    }

    mutating func exchange() async throws {
        let (source, _) = try taken()
        let (target, _) = try taken()
        world.trace.note("\(device.name) exchanges \(source) and \(target)")
        let versions = try [source, target].map { try device.conflictVersions(at: $0.name, in: $0.parent) }
        try fileSystem.rename(
            source.name, in: source.parent, to: target.name, in: target.parent, mode: .exchange, by: caller
        ).atOnce()
        try noteRemoval(versions[0], at: target)
        try noteRemoval(versions[1], at: source)
        for place in [source, target] where place.attributes?.kind == .symbolicLink {
            if let number = place.attributes?.inode { world.model.release(try device.content(of: number)) }
        }
    }

    mutating func link() throws {
        let (_, attributes) = try taken([.file])
        let place = try place(existing: 0)
        world.trace.note("\(device.name) links \(attributes.inode) as \(place)")
        _ = try fileSystem.link(attributes.inode, as: place.name, in: place.parent, by: caller)
    }

    mutating func makeLink() async throws {
        let place = try place(existing: 0)
        let content = FileContent(count: 1, cells: [0: token("links \(place)")])
        try await change(before: [], after: [content]) {
            _ = try fileSystem.makeSymbolicLink(place.name, in: place.parent, target: content.linkTarget, by: caller)
        }
    }

    mutating func chmod() throws {
        let (_, attributes) = try taken([.file, .directory])
        let mode = random.pick([0o600, 0o644, 0o755, 0o700] as [UInt16])
        _ = try fileSystem.setAttributes(of: attributes.inode, AttributeChange(mode: mode), by: caller)
    }

    mutating func setTime() throws {
        let (_, attributes) = try taken([.file, .directory])
        let time = Timestamp(rawValue: device.now.rawValue - Int64(random.number(0...1_000_000)) * 1_000_000)
        _ = try fileSystem.setAttributes(of: attributes.inode, AttributeChange(modified: time), by: caller)
    }

    mutating func setAttribute() async throws {
        let (_, attributes) = try taken([.file, .directory])
        let text = "\(token("tags \(attributes.inode)"))"
        world.model.noteAttribute(text)
        let name = random.pick(["user.tag", "user.color"])
        if random.happens(0.2) {
            try await device.value(of: fileSystem.removeExtendedAttribute(name, of: attributes.inode, by: caller))
        } else {
            try await device.value(
                of: fileSystem.setExtendedAttribute(
                    name, value: Array(text.utf8), mode: .any, of: attributes.inode, by: caller))
        }
    }
}

extension FileContent {
    /// The target of a link whose only cell this is.
    var linkTarget: String { "../token \(cells[0] ?? 0)" }
}
