/// Everything below `Documents` of the program's containers.
public let NSMetadataQueryUbiquitousDocumentsScope = "NSMetadataQueryUbiquitousDocumentsScope"

/// Everything in the program's containers that is not below `Documents`.
public let NSMetadataQueryUbiquitousDataScope = "NSMetadataQueryUbiquitousDataScope"

/// Documents of other programs that the user has opened: none here.
public let NSMetadataQueryAccessibleUbiquitousExternalDocumentsScope =
    "NSMetadataQueryAccessibleUbiquitousExternalDocumentsScope"

/// The user's home directory: an empty result here, since only containers are searched.
public let NSMetadataQueryUserHomeScope = "NSMetadataQueryUserHomeScope"

/// All local disks: an empty result here, since only containers are searched.
public let NSMetadataQueryLocalComputerScope = "NSMetadataQueryLocalComputerScope"

/// The program's local documents: an empty result here, since only containers are searched.
public let NSMetadataQueryLocalDocumentsScope = "NSMetadataQueryLocalDocumentsScope"

/// All mounted network disks: an empty result here, since only containers are searched.
public let NSMetadataQueryNetworkScope = "NSMetadataQueryNetworkScope"

/// All indexed local disks: an empty result here, since only containers are searched.
public let NSMetadataQueryIndexedLocalComputerScope = "NSMetadataQueryIndexedLocalComputerScope"

/// All indexed network disks: an empty result here, since only containers are searched.
public let NSMetadataQueryIndexedNetworkScope = "NSMetadataQueryIndexedNetworkScope"

/// In the `userInfo` of an update: the new results, an `[NSMetadataItem]`.
public let NSMetadataQueryUpdateAddedItemsKey = "kMDQueryUpdateAddedItems"

/// In the `userInfo` of an update: the results with changed attributes, an `[NSMetadataItem]`.
public let NSMetadataQueryUpdateChangedItemsKey = "kMDQueryUpdateChangedItems"

/// In the `userInfo` of an update: the items that are no longer results, an `[NSMetadataItem]`.
public let NSMetadataQueryUpdateRemovedItemsKey = "kMDQueryUpdateRemovedItems"

extension NSNotification.Name {
    /// The query was started; its object is the query.
    public static let NSMetadataQueryDidStartGathering = NSNotification.Name(
        "NSMetadataQueryDidStartGatheringNotification")

    /// More results were gathered; `userInfo` has the added items.
    public static let NSMetadataQueryGatheringProgress = NSNotification.Name(
        "NSMetadataQueryGatheringProgressNotification")

    /// All results were gathered; posted once after each start.
    public static let NSMetadataQueryDidFinishGathering = NSNotification.Name(
        "NSMetadataQueryDidFinishGatheringNotification")

    /// Results changed; `userInfo` has the added, changed and removed items.
    public static let NSMetadataQueryDidUpdate = NSNotification.Name("NSMetadataQueryDidUpdateNotification")

}
