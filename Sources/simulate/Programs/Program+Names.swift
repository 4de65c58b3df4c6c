import Control
import FileSystem
import Model
import Remote
import Replica

/// Names and attributes.
extension Program {
    /// The attributes of a place that was chosen already.
    private static func attributes(_ place: ResolvedPath) throws -> Attributes {
        guard let attributes = place.attributes else { throw FileError(.notFound, "\(place)") }
        return attributes
    }

    mutating func makeDirectory() throws {
        let place = try place(existing: 0)
        _ = try fileSystem.make(NewItem(.directory, mode: 0o755), as: place.name, in: place.parent, by: caller)
    }

    mutating func removeDirectory(_ place: ResolvedPath? = nil) async throws {
        let (place, attributes) = try place.map { ($0, try Self.attributes($0)) } ?? taken([.directory])
        let look = { @Sendable [replica = try fileSystem.replica] () throws -> Sight in
            Sight(moved: try replica.read { try $0.lookup(place.name, in: place.parent) }, places: [place])
        }
        _ = try await change(isNoted: false, look) {
            world.trace.note("\(label) removes \(place)")
            return try fileSystem.removeDirectory(place.name, in: place.parent, by: caller)
        }
        try forget(attributes.inode)
    }

    mutating func remove(_ place: ResolvedPath? = nil) async throws {
        let place = try place ?? taken([.file, .symbolicLink]).0
        let look = { @Sendable [device, replica = try fileSystem.replica] () throws -> Sight in
            let attributes = try replica.read { try $0.lookup(place.name, in: place.parent) }
            // The bytes are kept under another name; the name's conflict versions are not.
            let before =
                attributes.linkCount == 1
                ? try device.everything(of: attributes.inode)
                : try device.conflictVersions(at: place.name, in: place.parent)
            return Sight(before: before, moved: attributes, places: [place])
        }
        let finish: @Sendable (Sight, Void) throws -> Void = { [self] sight, _ in try noteLastName(of: sight.moved) }
        let (_, sight) = try await change(look, then: finish) {
            world.trace.note("\(label) removes \(place)")
            return try fileSystem.removeFile(place.name, in: place.parent, by: caller)
        }
        if let removed = sight.moved { try forget(removed.inode) }
    }

    /// Removes an item, and everything in it.
    mutating func removeTree(_ place: ResolvedPath? = nil) async throws {
        let place = try place ?? taken().0
        let attributes = try Self.attributes(place)
        guard attributes.kind == .directory else { return try await remove(place) }
        for child in try fileSystem.names(of: attributes.inode) {
            try await removeTree(try self.place(child.name, in: attributes.inode, path: "\(place)/"))
        }
        try await removeDirectory(try self.place(place.name, in: place.parent, path: place.directory))
    }

    /// A file that got another name with link(2), and lost the first one, has moved.
    private func noteLastName(of attributes: Attributes?) throws {
        guard let attributes, attributes.kind == .file, !device.isDead else { return }
        let entries = try fileSystem.replica.read { try $0.entries(of: attributes.inode) }
        guard attributes.linkCount == 2, let last = entries.first else { return }
        world.model.noteMove(of: try device.content(of: attributes.inode), to: last.name, on: device.name)
    }

    /// The kernel forgets an inode without a name, at once or later, unless it is open.
    mutating func forget(_ number: InodeNumber) throws {
        nameless.append(number)
        guard random.happens(0.7) else { return }
        let (forgettable, kept) = (
            nameless.filter { device.programs.mayForget($0) }, nameless.filter { !device.programs.mayForget($0) }
        )
        for number in forgettable { try fileSystem.forget(number) }
        nameless = world.scenario.isContended ? kept : []
    }

    mutating func rename(_ kinds: [ItemKind], mode: RenameMode) async throws {
        let (source, _) = try taken(kinds)
        try await move(source, to: try place(existing: 0.4), mode: mode)
    }

    mutating func move(_ source: ResolvedPath, to target: ResolvedPath, mode: RenameMode) async throws {
        guard source.attributes != nil else { throw FileError(.notFound, "\(source)") }
        let look = { @Sendable [self] () throws -> Sight in try sightOfMoving(source, to: target, mode: mode) }
        let finish: @Sendable (Sight, Void) throws -> Void = { [self] sight, _ in
            noteRemoval(sight.versions[0], at: target)
            for link in sight.links { world.model.release(link) }
            if let moved = sight.moved, moved.kind == .file, !device.isDead {
                world.model.noteMove(of: try device.content(of: moved.inode), to: target.name, on: device.name)
            }
            try noteLastName(of: sight.replaced)
        }
        let (_, sight) = try await change(look, then: finish) {
            world.trace.note("\(label) renames \(source) to \(target)")
            return try fileSystem.rename(
                source.name, in: source.parent, to: target.name, in: target.parent, mode: mode, by: caller)
        }
        if let replaced = sight.replaced { try forget(replaced.inode) }
    }

    private func sightOfMoving(
        _ source: ResolvedPath, to target: ResolvedPath, mode: RenameMode
    ) throws -> Sight {
        let replica = try fileSystem.replica
        let moved = try replica.read { try $0.lookup(source.name, in: source.parent) }
        let versions = try device.conflictVersions(at: source.name, in: source.parent, withIncoming: true)
        var sight = Sight(
            versions: [versions], leaving: try isLocalOnly(target, moved) ? versions : [], moved: moved,
            places: [source, target])
        guard mode == .replace,
            let replaced = try replica.read({ try $0.resolvedPath(of: target.name, in: target.parent).inode }),
            replaced != moved.inode
        else { return sight }
        let attributes = try replica.read { try $0.attributes(of: replaced) }
        sight.replaced = attributes
        if moved.kind == .symbolicLink, attributes.kind == .symbolicLink {
            sight.links = [try device.content(of: moved.inode)]
        }
        guard attributes.kind != .directory else { return sight }
        // The name keeps its item when both are of one kind: then the removal of incoming bytes is not seen.
        switch (attributes.linkCount == 1, attributes.kind == moved.kind) {
        case (true, true): sight.before = [try device.content(of: replaced)]
        case (true, false): sight.before = try device.everything(of: replaced)
        case (false, true): break
        case (false, false): sight.before = try device.conflictVersions(at: target.name, in: target.parent)
        }
        return sight
    }

    private func isLocalOnly(_ place: ResolvedPath, _ moved: Attributes) throws -> Bool {
        let replica = try fileSystem.replica
        let above = try ItemPath(replica.read { try $0.path(of: place.parent) }).components.map {
            try ItemName(String($0))
        }
        let sample = ItemSample(kind: moved.kind, byteCount: moved.size)
        return try above.contains { try replica.isLocalOnly($0, ItemSample(new: .directory)) }
            || replica.isLocalOnly(place.name, sample)
    }

    /// An item that moves to a local-only name leaves the container with its conflict versions, as the user intends,
    /// and with bytes that did not arrive before the next write: as if it were removed.
    private func noteRemoval(_ versions: [FileContent], at place: ResolvedPath) {
        guard !versions.isEmpty else { return }
        if let entry = try? fileSystem.replica.read({ try $0.existingEntry(place.name, in: place.parent) }),
            entry.item != nil
        {
            return
        }
        world.model.note(isCutOff ? .unknown : .done, before: versions, after: [])
    }

    mutating func exchange() async throws {
        let (source, _) = try taken()
        let (target, _) = try taken()
        world.trace.note("\(label) exchanges \(source) and \(target)")
        let look = { @Sendable [self, device, replica = try fileSystem.replica] () throws -> Sight in
            let moved = try replica.read { rows in try [source, target].map { try rows.lookup($0.name, in: $0.parent) }
            }
            let versions = try [source, target].map {
                try device.conflictVersions(at: $0.name, in: $0.parent, withIncoming: true)
            }
            let leaving = try zip(versions, zip([target, source], moved)).filter { try isLocalOnly($1.0, $1.1) }
                .flatMap(\.0)
            return Sight(
                versions: versions, leaving: leaving, moved: moved[0], replaced: moved[1],
                places: [source, target],
                links: try moved.filter { $0.kind == .symbolicLink }.map { try device.content(of: $0.inode) })
        }
        let finish = { @Sendable [self] (sight: Sight, _: Void) throws -> Void in
            noteRemoval(sight.versions[0], at: target)
            noteRemoval(sight.versions[1], at: source)
            for link in sight.links { world.model.release(link) }
        }
        _ = try await change(isNoted: false, look, then: finish) {
            try fileSystem.rename(
                source.name, in: source.parent, to: target.name, in: target.parent, mode: .exchange, by: caller)
        }
    }

    mutating func link() throws {
        let (_, attributes) = try taken([.file])
        let place = try place(existing: 0)
        world.trace.note("\(label) links \(attributes.inode) as \(place)")
        _ = try fileSystem.link(attributes.inode, as: place.name, in: place.parent, by: caller)
    }

    mutating func makeLink() async throws {
        let place = try place(existing: 0)
        let content = FileContent(count: 1, cells: [0: token("links \(place)")])
        let look = { @Sendable () throws -> Sight in Sight(after: [content]) }
        _ = try await change(look) {
            .ready(
                try fileSystem.make(
                    .symbolicLink(to: content.linkTarget(isSpelled: world.scenario.hasSpellings)), as: place.name,
                    in: place.parent, by: caller))
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
        if world.scenario.hasPreviews, random.happens(0.5) { return try await setPreview() }
        let (_, attributes) = try taken([.file, .directory])
        let text = "\(token("tags \(attributes.inode)"))"
        world.model.noteAttribute(text)
        let spelled = world.scenario.hasSpellings ? ["user.caf\u{e9}", "user.cafe\u{301}", "user.\u{301}"] : []
        let name = random.pick(["user.tag", "user.color"] + spelled)
        if random.happens(0.2) {
            try await device.value(of: ExtendedAttributes(fileSystem).remove(name, of: attributes.inode, by: caller))
        } else {
            try await device.value(
                of: ExtendedAttributes(fileSystem).set(
                    name, value: Array(text.utf8), mode: .any, of: attributes.inode, by: caller))
        }
    }

    /// Sets a preview that tells of which bytes it is, or removes it.
    private mutating func setPreview() async throws {
        let (place, number) = try takenFile()
        let facts = try fileSystem.replica.read { try $0.facts(of: [number]) }.first
        guard let facts, facts.isLocal, !facts.hasIncoming, facts.entry?.item != nil else {
            throw FileError(.notFound, "\(place) can have no preview here")
        }
        let attributes = ExtendedAttributes(try fileSystem)
        let name = "user.dewpoint.preview"
        if random.happens(0.1) {
            try await device.value(of: attributes.remove(name, of: number, by: caller))
        } else {
            // What was written through an open file is in the index only once it is asked for.
            _ = try fileSystem.current(of: number)
            let preview = try device.content(of: number).preview
            try await device.value(of: attributes.set(name, value: preview, mode: .any, of: number, by: caller))
        }
    }
}

extension FileContent {
    /// As long as a preview may be told from those of other bytes.
    var preview: [UInt8] { [0xff, 0xd8, 0xff] + Array("\(ChunkHash(hashing: Array("\(self)".utf8)))".utf8) }

    /// The target of a link whose only cell this is.
    func linkTarget(isSpelled: Bool) -> String {
        let token = cells[0] ?? 0
        let words = isSpelled ? ["token", "tok\u{e9}n", "toke\u{301}n", "\u{301}"] : ["token"]
        return "../\(words[Int(token % Token(words.count))]) \(token)"
    }
}
