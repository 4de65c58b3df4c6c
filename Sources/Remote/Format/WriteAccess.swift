/// Whether a store lets this device change its container: a pure value.
package enum WriteAccess: Hashable, Sendable {
    case writable
    /// The store refuses writing, for a reason in a sentence of its own: the container can only be read.
    case readOnly(reason: String)

    /// Judges what a store answered to the creation of an object that exists.
    ///
    /// A store that lets a device write refuses because of the object; one that does not, because of the device.
    ///
    /// - Parameter answer: The error of the call; `nil` when it succeeded.
    /// - Throws: ``StoreError`` with `invalid` when the object was created all the same, and any answer that says
    ///   nothing about permissions.
    init(toExisting key: String, _ answer: StoreError?) throws(StoreError) {
        guard let answer else {
            throw StoreError(
                .invalid, key: key,
                "this store overwrites objects despite create-only writes, so two devices could lose each other's changes"
            )
        }
        switch answer.code {
        case .preconditionFailed: self = .writable
        case .denied: self = .readOnly(reason: answer.detail.isEmpty ? answer.description : answer.detail)
        case .notFound, .throttled, .unavailable, .corrupt, .full, .invalid, .cancelled: throw answer
        }
    }

    /// Why the store refuses writing; `nil` when it does not.
    package var refusal: String? {
        switch self {
        case .writable: nil
        case .readOnly(let reason): reason
        }
    }
}
