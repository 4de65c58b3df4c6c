import Model
import Testing

@testable import Ubiquity

@Suite struct NSMetadataItemTests {
    @Test func `the constants of attributes are those of the declarations`() {
        let constants = [
            NSMetadataItemFSNameKey, NSMetadataItemDisplayNameKey, NSMetadataItemURLKey, NSMetadataItemPathKey,
            NSMetadataItemFSSizeKey, NSMetadataItemFSCreationDateKey, NSMetadataItemFSContentChangeDateKey,
            NSMetadataItemContentTypeKey, NSMetadataItemContentTypeTreeKey, NSMetadataItemIsUbiquitousKey,
            NSMetadataUbiquitousItemHasUnresolvedConflictsKey, NSMetadataUbiquitousItemIsDownloadedKey,
            NSMetadataUbiquitousItemIsDownloadingKey, NSMetadataUbiquitousItemIsUploadedKey,
            NSMetadataUbiquitousItemIsUploadingKey, NSMetadataUbiquitousItemDownloadRequestedKey,
            NSMetadataUbiquitousItemIsExternalDocumentKey, NSMetadataUbiquitousItemIsSharedKey,
            NSMetadataUbiquitousItemDownloadingStatusKey, NSMetadataUbiquitousItemPercentDownloadedKey,
            NSMetadataUbiquitousItemPercentUploadedKey, NSMetadataUbiquitousItemDownloadingErrorKey,
            NSMetadataUbiquitousItemUploadingErrorKey, NSMetadataUbiquitousItemContainerDisplayNameKey,
            NSMetadataUbiquitousItemURLInLocalContainerKey,
        ]
        #expect(constants.sorted() == ItemAttribute.inQueries.compactMap(\.metadataKey).sorted())
    }
}
