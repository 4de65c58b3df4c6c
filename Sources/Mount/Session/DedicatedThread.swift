import CLinux
import Glibc

/// Separate threads for work that blocks and so must not occupy the threads that tasks run on.
enum DedicatedThread {
    private final class Body {
        let run: @Sendable () -> Void
        init(_ run: @escaping @Sendable () -> Void) { self.run = run }
    }

    /// Starts a detached thread.
    ///
    /// - Parameter name: At most 15 bytes; shown by ps(1).
    static func start(named name: String, _ body: @escaping @Sendable () -> Void) {
        var thread = pthread_t()
        let context = Unmanaged.passRetained(Body(body)).toOpaque()
        let result = pthread_create(
            &thread, nil,
            { context in
                Unmanaged<Body>.fromOpaque(context!).takeRetainedValue().run()
                return nil
            }, context)
        precondition(result == 0, "cannot start thread \(name): \(String(cString: strerror(result)))")
        _ = CLinux_pthread_setname_np(thread, name)
        pthread_detach(thread)
    }
}
