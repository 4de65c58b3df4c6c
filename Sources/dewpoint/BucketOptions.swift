import ArgumentParser

/// How to reach a container in a bucket. Keys are never options: any user can read a process's arguments.
struct BucketOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The URL of the bucket's service, as in https://s3.example.com. (default: AWS_ENDPOINT_URL, or Amazon)",
            valueName: "url"))
    var endpoint: String?

    @Option(help: "The region of the bucket. (default: AWS_REGION, or us-east-1)")
    var region: String?
}
