// The attributes that Apple's systems know of local files: always missing here, except for the first two.

/// When the content was created, as ``NSMetadataItemFSCreationDateKey``. A `Date`.
public let NSMetadataItemContentCreationDateKey = "kMDItemContentCreationDate"

/// When the content last changed, as ``NSMetadataItemFSContentChangeDateKey``. A `Date`.
public let NSMetadataItemContentModificationDateKey = "kMDItemContentModificationDate"

/// Always missing.
public let NSMetadataItemAttributeChangeDateKey = "kMDItemAttributeChangeDate"

/// Always missing.
public let NSMetadataItemKeywordsKey = "kMDItemKeywords"

/// Always missing.
public let NSMetadataItemTitleKey = "kMDItemTitle"

/// Always missing.
public let NSMetadataItemAuthorsKey = "kMDItemAuthors"

/// Always missing.
public let NSMetadataItemEditorsKey = "kMDItemEditors"

/// Always missing.
public let NSMetadataItemParticipantsKey = "kMDItemParticipants"

/// Always missing.
public let NSMetadataItemProjectsKey = "kMDItemProjects"

/// Always missing.
public let NSMetadataItemDownloadedDateKey = "kMDItemDownloadedDate"

/// Always missing.
public let NSMetadataItemWhereFromsKey = "kMDItemWhereFroms"

/// Always missing.
public let NSMetadataItemCommentKey = "kMDItemComment"

/// Always missing.
public let NSMetadataItemCopyrightKey = "kMDItemCopyright"

/// Always missing.
public let NSMetadataItemLastUsedDateKey = "kMDItemLastUsedDate"

/// Always missing.
public let NSMetadataItemDateAddedKey = "kMDItemDateAdded"

/// Always missing.
public let NSMetadataItemDurationSecondsKey = "kMDItemDurationSeconds"

/// Always missing.
public let NSMetadataItemContactKeywordsKey = "kMDItemContactKeywords"

/// Always missing.
public let NSMetadataItemVersionKey = "kMDItemVersion"

/// Always missing.
public let NSMetadataItemPixelHeightKey = "kMDItemPixelHeight"

/// Always missing.
public let NSMetadataItemPixelWidthKey = "kMDItemPixelWidth"

/// Always missing.
public let NSMetadataItemPixelCountKey = "kMDItemPixelCount"

/// Always missing.
public let NSMetadataItemColorSpaceKey = "kMDItemColorSpace"

/// Always missing.
public let NSMetadataItemBitsPerSampleKey = "kMDItemBitsPerSample"

/// Always missing.
public let NSMetadataItemFocalLengthKey = "kMDItemFocalLength"

/// Always missing.
public let NSMetadataItemAcquisitionMakeKey = "kMDItemAcquisitionMake"

/// Always missing.
public let NSMetadataItemAcquisitionModelKey = "kMDItemAcquisitionModel"

/// Always missing.
public let NSMetadataItemOrientationKey = "kMDItemOrientation"

/// Always missing.
public let NSMetadataItemLayerNamesKey = "kMDItemLayerNames"

/// Always missing.
public let NSMetadataItemWhiteBalanceKey = "kMDItemWhiteBalance"

/// Always missing.
public let NSMetadataItemApertureKey = "kMDItemAperture"

/// Always missing.
public let NSMetadataItemProfileNameKey = "kMDItemProfileName"

/// Always missing.
public let NSMetadataItemResolutionWidthDPIKey = "kMDItemResolutionWidthDPI"

/// Always missing.
public let NSMetadataItemResolutionHeightDPIKey = "kMDItemResolutionHeightDPI"

/// Always missing.
public let NSMetadataItemExposureModeKey = "kMDItemExposureMode"

/// Always missing.
public let NSMetadataItemExposureTimeSecondsKey = "kMDItemExposureTimeSeconds"

/// Always missing.
public let NSMetadataItemEXIFVersionKey = "kMDItemEXIFVersion"

/// Always missing.
public let NSMetadataItemCameraOwnerKey = "kMDItemCameraOwner"

/// Always missing.
public let NSMetadataItemLensModelKey = "kMDItemLensModel"

/// Always missing.
public let NSMetadataItemAltitudeKey = "kMDItemAltitude"

/// Always missing.
public let NSMetadataItemLatitudeKey = "kMDItemLatitude"

/// Always missing.
public let NSMetadataItemLongitudeKey = "kMDItemLongitude"

/// Always missing.
public let NSMetadataItemSpeedKey = "kMDItemSpeed"

/// Always missing.
public let NSMetadataItemTimestampKey = "kMDItemTimestamp"

/// Always missing.
public let NSMetadataItemGPSTrackKey = "kMDItemGPSTrack"

/// Always missing.
public let NSMetadataItemImageDirectionKey = "kMDItemImageDirection"

/// Always missing.
public let NSMetadataItemNamedLocationKey = "kMDItemNamedLocation"

/// Always missing.
public let NSMetadataItemCodecsKey = "kMDItemCodecs"

/// Always missing.
public let NSMetadataItemMediaTypesKey = "kMDItemMediaTypes"

/// Always missing.
public let NSMetadataItemStreamableKey = "kMDItemStreamable"

/// Always missing.
public let NSMetadataItemTotalBitRateKey = "kMDItemTotalBitRate"

/// Always missing.
public let NSMetadataItemVideoBitRateKey = "kMDItemVideoBitRate"

/// Always missing.
public let NSMetadataItemAudioBitRateKey = "kMDItemAudioBitRate"

/// Always missing.
public let NSMetadataItemDeliveryTypeKey = "kMDItemDeliveryType"

/// Always missing.
public let NSMetadataItemAlbumKey = "kMDItemAlbum"

/// Always missing.
public let NSMetadataItemHasAlphaChannelKey = "kMDItemHasAlphaChannel"

/// Always missing.
public let NSMetadataItemHeadlineKey = "kMDItemHeadline"

/// Always missing.
public let NSMetadataItemInstructionsKey = "kMDItemInstructions"

/// Always missing.
public let NSMetadataItemCityKey = "kMDItemCity"

/// Always missing.
public let NSMetadataItemStateOrProvinceKey = "kMDItemStateOrProvince"

/// Always missing.
public let NSMetadataItemCountryKey = "kMDItemCountry"

/// Always missing.
public let NSMetadataItemTextContentKey = "kMDItemTextContent"

/// Always missing.
public let NSMetadataItemAudioSampleRateKey = "kMDItemAudioSampleRate"

/// Always missing.
public let NSMetadataItemAudioChannelCountKey = "kMDItemAudioChannelCount"

/// Always missing.
public let NSMetadataItemTempoKey = "kMDItemTempo"

/// Always missing.
public let NSMetadataItemKeySignatureKey = "kMDItemKeySignature"

/// Always missing.
public let NSMetadataItemTimeSignatureKey = "kMDItemTimeSignature"

/// Always missing.
public let NSMetadataItemComposerKey = "kMDItemComposer"

/// Always missing.
public let NSMetadataItemLyricistKey = "kMDItemLyricist"

/// Always missing.
public let NSMetadataItemAudioTrackNumberKey = "kMDItemAudioTrackNumber"

/// Always missing.
public let NSMetadataItemRecordingDateKey = "kMDItemRecordingDate"

/// Always missing.
public let NSMetadataItemMusicalGenreKey = "kMDItemMusicalGenre"

/// Always missing.
public let NSMetadataItemRecordingYearKey = "kMDItemRecordingYear"

/// Always missing.
public let NSMetadataItemOrganizationsKey = "kMDItemOrganizations"

/// Always missing.
public let NSMetadataItemLanguagesKey = "kMDItemLanguages"

/// Always missing.
public let NSMetadataItemRightsKey = "kMDItemRights"

/// Always missing.
public let NSMetadataItemPublishersKey = "kMDItemPublishers"

/// Always missing.
public let NSMetadataItemContributorsKey = "kMDItemContributors"

/// Always missing.
public let NSMetadataItemCoverageKey = "kMDItemCoverage"

/// Always missing.
public let NSMetadataItemSubjectKey = "kMDItemSubject"

/// Always missing.
public let NSMetadataItemThemeKey = "kMDItemTheme"

/// Always missing.
public let NSMetadataItemDescriptionKey = "kMDItemDescription"

/// Always missing.
public let NSMetadataItemIdentifierKey = "kMDItemIdentifier"

/// Always missing.
public let NSMetadataItemAudiencesKey = "kMDItemAudiences"

/// Always missing.
public let NSMetadataItemNumberOfPagesKey = "kMDItemNumberOfPages"

/// Always missing.
public let NSMetadataItemPageWidthKey = "kMDItemPageWidth"

/// Always missing.
public let NSMetadataItemPageHeightKey = "kMDItemPageHeight"

/// Always missing.
public let NSMetadataItemSecurityMethodKey = "kMDItemSecurityMethod"

/// Always missing.
public let NSMetadataItemCreatorKey = "kMDItemCreator"

/// Always missing.
public let NSMetadataItemEncodingApplicationsKey = "kMDItemEncodingApplications"

/// Always missing.
public let NSMetadataItemDueDateKey = "kMDItemDueDate"

/// Always missing.
public let NSMetadataItemStarRatingKey = "kMDItemStarRating"

/// Always missing.
public let NSMetadataItemPhoneNumbersKey = "kMDItemPhoneNumbers"

/// Always missing.
public let NSMetadataItemEmailAddressesKey = "kMDItemEmailAddresses"

/// Always missing.
public let NSMetadataItemInstantMessageAddressesKey = "kMDItemInstantMessageAddresses"

/// Always missing.
public let NSMetadataItemKindKey = "kMDItemKind"

/// Always missing.
public let NSMetadataItemRecipientsKey = "kMDItemRecipients"

/// Always missing.
public let NSMetadataItemFinderCommentKey = "kMDItemFinderComment"

/// Always missing.
public let NSMetadataItemFontsKey = "kMDItemFonts"

/// Always missing.
public let NSMetadataItemGenreKey = "kMDItemGenre"

/// Always missing.
public let NSMetadataItemDirectorKey = "kMDItemDirector"

/// Always missing.
public let NSMetadataItemProducerKey = "kMDItemProducer"

/// Always missing.
public let NSMetadataItemPerformersKey = "kMDItemPerformers"

/// Always missing.
public let NSMetadataItemAuthorEmailAddressesKey = "kMDItemAuthorEmailAddresses"

/// Always missing.
public let NSMetadataItemRecipientEmailAddressesKey = "kMDItemRecipientEmailAddresses"

/// Always missing.
public let NSMetadataItemAuthorAddressesKey = "kMDItemAuthorAddresses"

/// Always missing.
public let NSMetadataItemRecipientAddressesKey = "kMDItemRecipientAddresses"

/// Always missing.
public let NSMetadataItemIsLikelyJunkKey = "kMDItemIsLikelyJunk"

/// Always missing.
public let NSMetadataItemExecutableArchitecturesKey = "kMDItemExecutableArchitectures"

/// Always missing.
public let NSMetadataItemExecutablePlatformKey = "kMDItemExecutablePlatform"

/// Always missing.
public let NSMetadataItemApplicationCategoriesKey = "kMDItemApplicationCategories"

/// Always missing.
public let NSMetadataItemIsApplicationManagedKey = "kMDItemIsApplicationManaged"

/// Always missing.
public let NSMetadataItemCFBundleIdentifierKey = "kMDItemCFBundleIdentifier"
