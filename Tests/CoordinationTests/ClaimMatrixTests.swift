import Coordination
import Model
import Testing

/// Whether a new claim must wait for an earlier one: a second implementation of the rules in "Coordinated access" in
/// the Semantics page.
private func isExpectedToWait(new: AccessKind, _ relation: ItemRelation, earlier: AccessKind) -> Bool {
    let deep: [AccessKind] = [.write(.forDeleting), .write(.forMoving), .write(.forReplacing)]
    return switch relation {
    case .same: !(allReads.contains(new) && allReads.contains(earlier))
    case .inside: deep.contains(earlier)
    case .ancestor: deep.contains(new)
    case .unrelated: false
    }
}

@Suite struct ClaimMatrixTests {
    /// An earlier item, a new one, and the relation of the new one to it.
    static let pairs: [(earlier: ClaimItem, new: ClaimItem, relation: ItemRelation)] = [
        (document, document, .same), (folder, folder, .same), (package, package, .same),
        (folder, document, .inside), (folder, innerFolder, .inside), (folder, deepDocument, .inside),
        (document, folder, .ancestor), (deepDocument, folder, .ancestor), (innerFolder, folder, .ancestor),
        (document, stranger, .unrelated), (document, innerFolder, .unrelated), (folder, stranger, .unrelated),
        // An item inside a package represents the outermost package.
        (package, packageFile, .same), (packageFile, package, .same), (packageFile, nestedFile, .same),
        (packageFolder, packageFile, .same), (nestedPackage, package, .same), (nestedFile, nestedPackage, .same),
        (package, document, .unrelated),
        // An item that does not exist yet is identified by its parent and name.
        (plainFile(nil, in: [root], "new"), plainFile(nil, in: [root], "new"), .same),
        (plainFile(nil, in: [root], "new"), plainFile(nil, in: [root], "newer"), .unrelated),
        (plainFile(nil, in: [root], "stranger"), stranger, .same),
        (folder, plainFile(nil, in: [root, InodeNumber(20)], "new"), .inside),
        (plainFile(nil, in: [root, InodeNumber(20)], "new"), folder, .ancestor),
        (plainFile(nil, in: [root, InodeNumber(30)], "new", packages: [InodeNumber(30)]), packageFile, .same),
    ]

    @Test(arguments: 0..<pairs.count)
    func `two items have the expected relation`(index: Int) {
        let pair = Self.pairs[index]
        #expect(pair.new.relation(to: pair.earlier) == pair.relation)
    }

    @Test(arguments: ItemRelation.allCases)
    func `every cell of the matrix follows the rules`(relation: ItemRelation) {
        var wrong: [String] = []
        for earlier in allKinds {
            for new in allKinds {
                let waits = ClaimMatrix.waits(new: new, relation, earlier: earlier)
                guard waits != isExpectedToWait(new: new, relation, earlier: earlier) else { continue }
                wrong.append("\(new) after \(earlier)")
            }
        }
        #expect(wrong == [])
    }

    @Test(arguments: 0..<pairs.count)
    func `the lock table grants or queues every pair of claims as the rules say`(index: Int) throws {
        let pair = Self.pairs[index]
        // Failures are collected in one list: twelve thousand separate expectations would be slow.
        var wrong: [String] = []
        for earlier in allKinds {
            for new in allKinds {
                var stage = ClaimStage()
                let first = try stage.request(claims(1, [(earlier, pair.earlier)]))
                let second = try stage.request(claims(2, [(new, pair.new)]))
                let waits = isExpectedToWait(new: new, pair.relation, earlier: earlier)
                // A waiting claim is granted next, and nothing remains in the table.
                let third = stage.release(1)
                let fourth = stage.release(2)
                guard first == [.granted(1)], second == (waits ? [] : [.granted(2)]),
                    third == (waits ? [.granted(2)] : []), fourth == [], stage.table.isEmpty
                else {
                    wrong.append("\(new) after \(earlier)")
                    continue
                }
            }
        }
        #expect(wrong == [])
    }

    @Test(arguments: ["coordinator", "purpose", "set"])
    func `claims of one coordinator, purpose or set never wait for each other`(exemption: String) throws {
        for earlier in allKinds {
            for new in allKinds {
                var stage = ClaimStage()
                if exemption == "set" {
                    try stage.hold(claims(1, [(earlier, document), (new, document), (.write(.forMoving), folder)]))
                    continue
                }
                let coordinator = exemption == "coordinator" ? "shared" : nil
                let purpose = exemption == "purpose" ? "shared" : nil
                try stage.hold(claims(1, [(earlier, document)], coordinator: coordinator, purpose: purpose))
                try stage.hold(claims(2, [(new, document)], coordinator: coordinator, purpose: purpose))
            }
        }
    }

    @Test(arguments: allKinds)
    func `only claims that access bytes wait for a download`(kind: AccessKind) throws {
        let expected: Bool =
            switch kind {
            case .read(let options): !options.contains(.immediatelyAvailableMetadataOnly)
            case .write(let option): option == .plain || option == .forMerging
            }
        for (item, whole) in [(document, document), (packageFile, package)] {
            var stage = ClaimStage()
            stage.downloadsAtOnce = false
            let effects = try stage.request(claims(1, [(kind, item)]))
            guard expected else {
                #expect(effects == [.granted(1)])
                continue
            }
            guard case .claim(.download(1, let items))? = effects.first else {
                Issue.record("nothing to download: \(effects)")
                continue
            }
            #expect(items.map(\.inode) == [whole.inode])
            #expect(stage.state(of: 1) == .downloading)
            #expect(stage.table.downloaded(1, now: .ms(1)) == [.granted(1)])
        }
        for item in [folder, plainFile(nil, in: [root], "new")] {
            var stage = ClaimStage()
            stage.downloadsAtOnce = false
            try stage.hold(claims(1, [(kind, item)]))
        }
    }
}
