import Testing

/// Everything that runs on a real mount, driven by other programs.
///
/// Tests run one at a time: two cores suffice for one mount with its programs, and some tests measure time.
@Suite(
    "The mount, driven by other programs", .serialized, .timeLimit(.minutes(Requirement.long ? 60 : 10)),
    .enabled(if: Requirement.fuse, "there is no /dev/fuse here"),
    .enabled(if: TestStore.unavailable == nil, "there is no S3 server: \(TestStore.unavailable ?? "")"))
enum RealMount {}
