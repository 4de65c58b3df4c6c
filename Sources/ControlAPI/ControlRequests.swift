/// Every request of the control API.
package enum ControlRequests {
    /// In the order of the table in Operations.
    package static let all: [any ControlRequest.Type] = [
        ContainerStatusRequest.self, ItemStatusRequest.self, ListRequest.self, TotalsRequest.self, ReasonsRequest.self,
        TransfersRequest.self, FollowRequest.self, DownloadProgressRequest.self, DownloadRequest.self,
        CancelDownloadRequest.self, EvictRequest.self, PinRequest.self, PreviewsRequest.self, VersionsRequest.self,
        ConflictsRequest.self,
        PinsRequest.self, SharesRequest.self, ShareRequest.self, RevokeShareRequest.self, ResolveRequest.self,
        RestoreVersionRequest.self, VersionContentRequest.self, DiscardVersionRequest.self,
        MarkVersionResolvedRequest.self, DevicesRequest.self, LogRequest.self, TrashRequest.self,
        RestoreDeletedRequest.self, PauseRequest.self, DeletionsRequest.self, SyncRequest.self, StormAnswerRequest.self,
        LocksRequest.self, BreakRequest.self, EventsRequest.self, OpenSessionRequest.self, CheckRequest.self,
        GarbageRequest.self, CurrentLinkRequest.self, LinkRequest.self, CurrentLogLevelRequest.self,
        LogLevelRequest.self, MetricsRequest.self, HealthRequest.self, UpgradeRequest.self,
        UnmountRequest.self,
    ]

    /// How long a daemon may take for answers that need neither the store nor a walk through a directory.
    package static let quickLimit = Duration.seconds(30)

    /// The longest request body that a daemon reads: 64 KiB. A path is at most 4 KiB.
    package static let bodyByteLimit = 64 << 10
}
