/// Where calls run that block for long: on threads of their own, or right where they are made.
///
/// A simulation does everything on one thread, so that the same seed gives the same run.
package enum BlockingWork {
    @TaskLocal package static var isInline = false
}
