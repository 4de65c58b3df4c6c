import Foundation
import Model
import Remote
import Synchronization
import TestStores
import Testing

@testable import Sealing

/// A device that is let in by a code, through a store that would rather let in its own.
@Suite struct EnrolmentTests {
    private let base = MemoryStore()
    private let code = RecoveryCode()

    private func identity() -> ContainerIdentity {
        ContainerIdentity(
            id: ContainerIdentifier("iCloud.org.dewpoint.Tests")!, uuid: UUID(), created: Timestamp(rawValue: 0),
            settings: .init(name: "Tests", documentScopePublic: false, folderLevels: .any))
    }

    private func create(
        in store: any ObjectStore, _ identity: ContainerIdentity, passphrase: String = "correct horse",
        uuid: UUID = UUID()
    ) async throws -> KeyringMemory {
        try await SealedContainer.create(
            in: store, identity: identity, passphrase: try Passphrase(passphrase), recovery: code, deviceName: "anna",
            time: 1, uuid: uuid)
    }

    private func open(_ memory: KeyringMemory, in store: any ObjectStore) async throws -> UnlockedContainer {
        try await #require(try await SealedContainer.find(in: store)).open(memory)
    }

    private func bytes(_ key: String, in store: any ObjectStore) async throws -> [UInt8] {
        try await store.get(key, range: nil).collect(upTo: 1 << 20)
    }

    private func key(_ code: RecoveryCode, _ kind: String) -> String {
        "enrol/\(HiddenName.hex(code.bytes.prefix(16)))-\(kind)"
    }

    private static let minute: Int64 = 60_000_000_000

    @Test func `a code lets one device in, for a quarter of an hour`() async throws {
        let memory = try await create(in: base, identity())
        var container = try await open(memory, in: base)
        let old = try await Enrolment(in: base, container: memory.container, name: "old", time: 0)
        let new = try await Enrolment(in: base, container: memory.container, name: "new", time: 10 * Self.minute)
        #expect(try await new.answer() == nil)
        await #expect(
            throws: KeyringError.refused("the code of the device old is older than 15 minutes: ask for a new one there")
        ) { try await Enrolment.accept(old.code, role: .writer, in: &container, time: 15 * Self.minute) }
        await #expect(
            throws: KeyringError.refused(
                "no device asks with this code here: check it, and that it asks for the same container")
        ) { try await Enrolment.accept(RecoveryCode(), role: .writer, in: &container, time: 0) }
        #expect(try await Enrolment.accept(new.code, role: .reader, in: &container, time: 15 * Self.minute) == "new")
        // Again, as after an answer that was lost: the same member.
        #expect(try await Enrolment.accept(new.code, role: .reader, in: &container, time: 15 * Self.minute) == "new")
        #expect(container.newest.number == 2)
        let enrolled = try #require(try await new.answer())
        let opened = try await open(enrolled, in: base)
        #expect(opened.newest.member(try #require(enrolled.device))?.role == .reader)
        #expect(!(try enrolled.mayWrite()))
        await new.remove()
        await old.remove()
        #expect(try await base.list(prefix: "enrol/", after: nil, limit: 9) == [])
    }

    @Test func `the store can neither put its own keys into a request nor let the device into its own container`()
        async throws
    {
        let identity = identity()
        let memory = try await create(in: base, identity)
        var container = try await open(memory, in: base)
        let request = try await Enrolment(in: base, container: memory.container, name: "ben", time: 0)
        // Its own request, under the name of the true one.
        let own = try await Enrolment(in: base, container: memory.container, name: "ben", time: 0)
        let right = try await bytes(key(request.code, "request"), in: base)
        try await base.put(key(request.code, "request"), .bytes(try await bytes(key(own.code, "request"), in: base)))
        await #expect(throws: KeyringError.self) {
            try await Enrolment.accept(request.code, role: .writer, in: &container, time: 0)
        }
        #expect(container.newest.number == 1)
        try await base.put(key(request.code, "request"), .bytes(right))

        // A container of its own with the same UUID, in which it enrols the device: it does not know the secret.
        let enemy = MemoryStore()
        let enemys = try await create(in: enemy, identity, passphrase: "the store's own", uuid: memory.container)
        var fake = try await open(enemys, in: enemy)
        try await enemy.put(key(request.code, "request"), .bytes(right))
        let guess = RecoveryCode(halves: request.code.bytes.prefix(16), RecoveryCode().bytes.prefix(16))
        #expect(try await Enrolment.accept(guess, role: .writer, in: &fake, time: 0) == "ben")
        try await base.put(key(request.code, "answer"), .bytes(try await bytes(key(request.code, "answer"), in: enemy)))
        await #expect(throws: KeyringError.damaged("the answer in the store is not one to this code")) {
            _ = try await request.answer()
        }
        // The true answer with the store's own keyrings.
        try await base.delete(key(request.code, "answer"))
        #expect(try await Enrolment.accept(request.code, role: .writer, in: &container, time: 0) == "ben")
        for number in 1...2 {
            let ring = KeyringStore(store: base, container: memory.container).key(number)
            try await base.put(ring, .bytes(try await bytes(ring, in: enemy)))
        }
        await #expect(throws: KeyringError.self) { _ = try await request.answer() }
    }

    @Test func `a request for another container is refused`() async throws {
        let memory = try await create(in: base, identity())
        var container = try await open(memory, in: base)
        let request = try await Enrolment(in: base, container: UUID(), name: "ben", time: 0)
        await #expect(throws: KeyringError.refused("the device ben asks for another container")) {
            try await Enrolment.accept(request.code, role: .writer, in: &container, time: 0)
        }
    }

    // MARK: A store that fails

    /// Fails one call, before or after its effect.
    @Test(arguments: 1...6, [true, false])
    func `a creation that is interrupted leaves a container or none`(call: Int, afterwards: Bool) async throws {
        let identity = identity()
        let countdown = Countdown(call)
        let faulty = FaultyStore(base) { operation, _ in
            guard [.put, .create].contains(operation), countdown.isNow() else { return nil }
            return afterwards ? .failAfter(.unavailable) : .failBefore(.unavailable)
        }
        let memory = try? await create(in: faulty, identity)
        guard let found = try await SealedContainer.find(in: base) else {
            #expect(memory == nil)
            // The place is still free.
            _ = try await create(in: base, identity)
            return
        }
        let opened = try await found.unlock(.recovery(code))
        #expect(try await Container.open(in: opened.store).identity == identity)
        if let memory { _ = try await found.open(memory) }
        await #expect(throws: KeyringError.self) { _ = try await create(in: base, self.identity()) }
    }

    @Test(arguments: [true, false])
    func `a change whose answer is lost is made once`(afterwards: Bool) async throws {
        let memory = try await create(in: base, identity())
        let faulty = FaultyStore(base)
        faulty.plan(afterwards ? .failAfter(.unavailable) : .failBefore(.unavailable), on: .create)
        var container = try await open(memory, in: faulty)
        do {
            try await container.change(time: 2) { change throws(KeyringError) in change.rotate() }
            #expect(afterwards)
        } catch {
            #expect(!afterwards)
            try await container.change(time: 2) { change throws(KeyringError) in change.rotate() }
        }
        #expect(container.newest.number == 2 && container.newest.epoch == 2)
        #expect(try await open(memory, in: base).newest == container.newest)
    }

    private final class Countdown: Sendable {
        private let rest: Mutex<Int>

        init(_ count: Int) { rest = Mutex(count) }

        func isNow() -> Bool {
            rest.withLock { rest in
                rest -= 1
                return rest == 0
            }
        }
    }
}
