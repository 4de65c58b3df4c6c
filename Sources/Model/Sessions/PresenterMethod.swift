/// The optional methods of `NSFilePresenter`: each presenter registers those that it implements.
package enum PresenterMethod: String, Hashable, Sendable, Codable, CaseIterable {
    case relinquishToReader, relinquishToWriter, save
    case accommodateDeletion, accommodateSubitemDeletion, accommodateEviction
    case didChange, didMove, didChangeUbiquityAttributes
    case didGainVersion, didLoseVersion, didResolveConflictVersion
    case subitemDidAppear, subitemDidChange, subitemDidMove
    case subitemDidGainVersion, subitemDidLoseVersion, subitemDidResolveConflictVersion
}
