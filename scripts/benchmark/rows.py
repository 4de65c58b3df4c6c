"""The pieces of work that are measured, in the order of the table. The figures aimed at are those the project has set
itself."""

from .cold import ColdMany, ColdRead, FarMany, FirstByteFresh, FirstByteListed
from .following import SeeDirectory, SeeS3
from .hot import HotRandom, HotRead
from .trees import Find, KnownMount, Memory, NewMount, Rename, Upload
from .uploads import UploadMany, UploadManyLimited, UploadOne, UploadOneLimited, UploadTree, UploadTreeLimited

ROWS = [
    HotRead, HotRandom, Find, Rename, FirstByteListed, FirstByteFresh, ColdRead, ColdMany, FarMany, Upload,
    UploadOne, UploadOneLimited, UploadMany, UploadManyLimited, UploadTree, UploadTreeLimited, SeeS3, SeeDirectory,
    Memory, NewMount, KnownMount,
]  # fmt: skip
