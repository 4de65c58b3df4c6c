import ArgumentParser

/// How to reach a container in a bucket. Keys are never options: everyone may read those.
struct BucketOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Where the bucket's service answers, such as https://s3.example.com. (default: AWS_ENDPOINT_URL, or Amazon)",
            valueName: "url"))
    var endpoint: String?

    @Option(help: "The region of the bucket. (default: AWS_REGION, or us-east-1)")
    var region: String?
}
