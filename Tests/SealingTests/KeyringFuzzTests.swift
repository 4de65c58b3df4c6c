import Crypto
import Foundation
import Model
import Mutations
import Remote
import TestStores
import Testing

@testable import Sealing

/// Keyrings of a member who breaks the rules: whatever he signs, others refuse it or stay within the rules.
@Suite(.serialized) struct KeyringFuzzTests {
    private let container = UUID()
    private let anna = UUID()
    private let annasKeys = DeviceKeys()

    private func object(_ text: [UInt8], _ secrets: RingSecrets) throws -> [UInt8] {
        let text = Data(text)
        let mac = HMAC<SHA256>.authenticationCode(for: text, using: secrets.authenticationKey(of: container))
        let signature = try annasKeys.signing.signature(
            for: Data(Array("dewpoint keyring v2".utf8) + [0]) + text)
        let object: [String: String] = [
            "keyring": text.base64EncodedString(), "mac": Data(mac).base64EncodedString(),
            "signature": signature.base64EncodedString(),
        ]
        return Array(try JSONSerialization.data(withJSONObject: object))
    }

    @Test func `a version that a member has made up ends nobody's program, and forgets nobody`() async throws {
        let author = KeyringChange.Author(device: anna, keys: annasKeys, time: 1)
        let (first, secrets) = try KeyringChange.found(
            container: container, author: author, name: "anna", passphrase: try Passphrase("correct horse"),
            recovery: RecoveryCode())
        let chain = try KeyringChain(first: try first.bytes())
        var change = try KeyringChange(of: chain, secrets: secrets, author: author)
        try change.enrol(UUID(), name: "ben", keys: DeviceKeys().publicKeys, role: .writer)
        change.rotate()
        let next = try change.object().bytes()
        let shell = try #require(JSONSerialization.jsonObject(with: Data(next)) as? [String: String])
        let ring = try JSONSerialization.jsonObject(with: try #require(Data(base64Encoded: shell["keyring"] ?? "")))
        var acceptedCount = 0
        for seed in 1...JSONMutation.count / 10 {
            var mutation = JSONMutation(seed: seed)
            var after = chain
            let bytes = try object(try mutation.text(of: ring), change.secrets)
            do throws(KeyringError) { try after.append(bytes) } catch {
                #expect(after.newest == chain.newest)
                continue
            }
            acceptedCount += 1
            #expect(after.newest.number == 2 && after.newest.members.starts(with: chain.newest.members))
            // Whoever opens it gets keys that fit, or none.
            if let opened = try? after.open(annasKeys, of: anna) { #expect(opened.epoch == after.newest.epoch) }
            let memory = KeyringMemory(after, .device(anna, keys: annasKeys.bytes))
            #expect(try memory.chain().newest == after.newest)
        }
        // Most changes leave the ring as it was read, or break a rule.
        #expect(acceptedCount > 0)
        if JSONMutation.isAlone { #expect(JSONMutation.peakByteCount < 300 << 20) }
    }

    @Test func `what a device has kept is used as it was, or refused`() async throws {
        let author = KeyringChange.Author(device: anna, keys: annasKeys, time: 1)
        let (first, _) = try KeyringChange.found(
            container: container, author: author, name: "anna", passphrase: try Passphrase("correct horse"),
            recovery: RecoveryCode())
        let chain = try KeyringChain(first: try first.bytes())
        let memory = KeyringMemory(chain, .device(anna, keys: annasKeys.bytes))
        let json = try JSONSerialization.jsonObject(with: try JSONEncoder().encode(memory))
        for seed in 1...JSONMutation.count / 10 {
            var mutation = JSONMutation(seed: seed)
            let text = Data(try mutation.text(of: json))
            guard let read = try? JSONDecoder().decode(KeyringMemory.self, from: text) else { continue }
            _ = try? read.keys()
            _ = try? read.mayWrite()
            _ = read.device
        }
    }
}
