import Glibc

/// A pointer that each thread has for itself. Related: pthread_key_create(3).
struct ThreadPointer: Sendable {
    private let key: pthread_key_t

    init() {
        var key = pthread_key_t()
        precondition(pthread_key_create(&key, nil) == 0, "cannot create a thread-specific key")
        self.key = key
    }

    /// That of the calling thread; `nil` until it is set.
    var value: UnsafeRawPointer? {
        get { UnsafeRawPointer(pthread_getspecific(key)) }
        nonmutating set { pthread_setspecific(key, newValue) }
    }
}
