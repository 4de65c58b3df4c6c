import Testing

/// Everything that runs on a real mount, driven by other programs.
///
/// One test at a time: two cores hold one mount with its programs, and the timing that some tests are about.
@Suite(
    "The mount, driven by other programs", .serialized, .timeLimit(.minutes(10)),
    .enabled(if: Requirement.fuse, "there is no /dev/fuse here"),
    .enabled(if: TestStore.unavailable == nil, "there is no S3 server: \(TestStore.unavailable ?? "")"))
enum RealMount {}
