package import Foundation
package import Remote

/// What the devices of an encrypted container tell each other, and compare.
extension SealedStore {
    /// The key of the newest epoch that this device knows.
    package var hintKey: HintKey { keys.hintKey }

    /// The SHA-256 of the sealed object of a commit that this device has seen, as long as it remembers it.
    package func hash(ofCommit number: UInt64) -> Data? { history?.hash(of: number) }

    /// Compares what another device has seen with what this one has.
    ///
    /// - Parameter name: Of the other device, for people.
    /// - Returns: A sentence when the store has shown them different histories; else `nil`.
    package func fork(_ hint: CommitHint, from name: @autoclosure () -> String) -> String? {
        guard let theirs = hint.hash, let ours = hash(ofCommit: hint.number), theirs != ours else { return nil }
        let (container, number) = (keys.container, hint.number)
        func words(_ hash: Data) -> String {
            Checkpoint(commit: number, hash: hash, of: container).words.joined(separator: "-")
        }
        return
            "the store shows two histories: commit \(number) is \(words(ours)) here and \(words(theirs)) on \(name()); "
            + "nothing is sent or taken over until the next mount; compare what 'dewpoint key checkpoint' says on each "
            + "device, and restore the store's true state"
    }
}
