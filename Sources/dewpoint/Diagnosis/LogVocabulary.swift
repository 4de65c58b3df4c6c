/// The words of Dewpoint's own log messages. ``Redaction`` replaces all others: they may be parts of names.
///
/// A word that is missing here costs a reader of an archive some sense, and nothing else.
enum LogVocabulary {
    static let words = Set(text.split { $0.isWhitespace }.map(String.init))

    private static let text = """
        a abort aborting above absolute accept accepted access accesskeyid accessor add added admin adopt adopted
        advance advisory affect affects afs after again ago all allcases allow allowed allows alone already although
        amazonaws among an and another answer answered anything appears applied apply applying apt are arguments
        arrived as asked asks assemble async at atime attach attribute attribute's attributes authorization away aws
        back backing backup badhandle badname based batch batches be became because becomes been before began behind
        being belongs below beside bits blocked body both bounds break btrfs bucket bucket's busy but by byte bytes
        cache cached calls came can cancelled candidate cannot cap cause ceph certificate change changed changes
        changing charset check checks chmod choose chosen chunk chunks cifs claim claimed claims cleanly client
        clients close closed closing cloud cmdline code collection column columns com comm commit commits committed
        compare complete completemultipart compressed condemning conditioned configure confirm conflict connect
        connection connections consist contain container container's container.json contended content contents
        continuation continue continues continuing control coordination coordinator copy correct corrupt could count
        cover covers create created creates credential credentials critical crossdevice csdoc current cycle daemon
        daemon's daemon.log damaged data database dead deadlock debian's debug declares deflatebound delay delete
        deleted deletion deletions denied description despite detach detail dev device device's devices dewpoint
        dewpoint's dewpointitemid dewpointmode dewpointmodified did differ differs digits dir diratime directmapping
        directories directory directoryblocks directorysize dirsync dirty disabling discard discarded disconnected
        disk diskfull disklife dmesg do document does dot down download downloaded downloading downloads drains drop
        each earlier early edeadlk edit edited else emptied empty encoded encodingtype end ended ending endpoint
        ends engine entries entry errno error etag eu event events everyone evicted eviction evictions exactly
        examined example exceeded exceeds exchange excl excluded exclusive exec exist existing exists exited
        expiration expired ext extension extensions fail failed failure fallocate false fast fchmod fcntl fdatasync
        fdopendir fetch fetched fetches fetching file files filesystem find finds finished first flags flight flock
        follow followed followers for format formats foruploading found fragment free from fs fstat fsync ftruncate
        full functions fuse fusermount futimens gaps garbage gates get gib give given go gone grace graceful granted
        group grow gzip had half handle handshake has hash hasprefix have head held here hex hidden history holds
        hole host http https hummingbird hummingbirdcore id identity if ignores immediately import in incoming
        incomplete index indexes info inode inodes inputoutput inside install instead integer interrupted into
        invalid invalidate is isallowed iscontended isdirectory isempty isheld isplain istruncated it item items its
        itself join json keep keeping keeps kept kernel key keys kib kind known lacks landing large last
        lastmodified later lazy leases least leaving left length level levels libfuse libsqlite lies lifecycle limit
        limited line link linked links linux list listbucketresult listening listing lists literally little live
        load local location lock locked locks log logged long longer looked lookups lose lost lowercased lseek
        machine machine's made main manifest many map mapped mappings match max may meantime meanwhile member memory
        meta metadata metrics mib misplaced missing mkdir mknod mode model modified modprobe more most mount mounted
        mounting mountpoint move moved moving ms must name names nametoolong need needs negative neither network
        never new newer newest next nfs no noatime nobody nodev nodiratime noexec nonempty nor noreplace nosuid not
        notdirectory notempty notfound nothing notice noticed notify notpermitted notutf8 now ns nshomedirectory
        nsurlfilesizekey nsurlnamekey null number numbers object objects of off offline offset old older on once one
        ones only open opendir opened opening opens operation option options or order origin other other's others
        otherwise our out outside over overquota overwrites own owner pack packages packs parked parsed part partly
        partnumber parts pass passthrough past path paths paused per percent period permission permissions permit
        pid piece pieces pinned pipe place placeholder placeholders plain points port ports position possibly post
        postponed power pread preconditionfailed prefix prepare present presented presenter presenters presents
        previous printable probe problem problems proc process processgroup profile program programs promised
        property protocol put pwrite query questions quota range ranges reachable reached read readdir readdirplus reading
        readlink readonly reads ready reason received record recorded records recovered refers refused refuses
        region release remaining remains remote remotes3 removal remove removed removes rename renamed renaming
        repair repaired repairs replaced replacing replica reports request requested requests requires reserve
        resolve resolved resource respond response restarting restore restored restoring restrict resume resumed
        resumes retry retrying returning revoked right role room root route row run running runs s same save says
        scratch second seconds secret secretaccesskey see send sends sent sentence separated separator server serves
        service servicelifecycle services session sessions set setlease sets setxattr sha shared shdpnd shorter show
        shut shutdown sigblk sigcgt sigign signal signedheaders sigpnd since single size sizes skipping slash
        slashes snapshot snapshots so socket some something space specific splice split sqlite srv staging stalled
        start started stat state states statfs status still stopped stopping store store's stored storm stream
        string success such suid sum superseded support supported swift symbolic symlink sync synced syncfs syncing
        sys system table tables take taken takes target temp tested text than that the them then there these they
        this thread throttled through tickets time timed timedout timeout times tls tmpdir to token told tombstone
        too took toolarge toomanylinks total trace transaction transfer transfers trash tree trigger trimmed true
        truncated truncation try trying tumblerd turn turned twice two type typeof types ulimit umount unavailable
        unclean under undid unix unknown unlink unlinked unmount unmounted unmounting unpacks unpin unreachable
        unreadable unsupported until up update updatedb upload uploaded uploadid uploading uploads upperbound uptime
        url use used user users uses utf utimensat uuidstring vacuum value values version versions views virtiofs
        virtual wait waited waiter waiters waiting waits warning was watch way we were west what when where which
        while who whole whose why will with without withoutchanges work workers would wouldblock writable write
        writes writing writingoption written wrong xattrs xfs yet you zeros zlib
        """
}
