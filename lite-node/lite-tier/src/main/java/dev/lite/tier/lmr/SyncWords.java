package dev.lite.tier.lmr;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.Permission;
import dev.lite.cluster.ClusterDirectory;
import dev.lite.cluster.LmrRecord;
import dev.lite.cluster.LmrRecord.Run;
import dev.lite.cluster.LmrRecord.Share;
import dev.lite.os.waiting.Deadline;
import dev.lite.tier.RemoteMemory;
import dev.lite.tier.memory.ArenaAllocator;
import dev.lite.tier.memory.ExtentRun;
import dev.lite.tier.memory.Layout;
import dev.lite.tier.memory.Mapping;
import dev.lite.tier.memory.MappingOwner;
import dev.lite.tier.memory.NodeArena;
import dev.lite.tier.sync.SyncWord;
import dev.lite.tier.sync.WordMoves;
import dev.lite.tier.sync.WordRef;
import dev.lite.tier.sync.WordStore;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The words of locks and barriers: small internal LMRs with records under internal names. No principal may use them. A
 * node maps each word once, for all of its sessions.
 */
public final class SyncWords implements WordStore, MappingOwner, AutoCloseable {
    private static final Logger log = LoggerFactory.getLogger(SyncWords.class);

    /** The number of records in doubt from which a new one takes the place of the oldest: the directory did not answer their creation. */
    private static final int DOUBTFUL_MAX = 1024;

    private final int self;
    private final NodeArena arena;
    private final ArenaAllocator allocator;
    private final LmrServices lmrs;
    private final ClusterDirectory directory;
    private final WordMoves moves;
    private final Duration deadline;
    /** The smallest ticket that a new lock may begin with: one for all locks. */
    private final GrowingNumber floor;

    /** Words whose record may or may not be in the directory, the oldest one first. A retry creates the same record. */
    private final Map<String, LmrRecord> doubtful = Collections.synchronizedMap(new LinkedHashMap<>());

    /** The mappings of words with their home at this node; changes of a record do not reach them. */
    private final Set<Mapping> own = ConcurrentHashMap.newKeySet();

    private volatile boolean closed;

    /** A node creates one instance. */
    public SyncWords(
            int self,
            NodeArena arena,
            ArenaAllocator allocator,
            LmrServices lmrs,
            ClusterDirectory directory,
            WordMoves moves,
            Duration deadline) {
        this.self = self;
        this.arena = arena;
        this.allocator = allocator;
        this.lmrs = lmrs;
        this.moves = moves;
        this.directory = directory;
        this.deadline = deadline;
        this.floor = new GrowingNumber(directory, "tickets/floor", 1);
    }

    @Override
    public SyncWord open(Kind kind, String name, Deadline until) {
        String record = prefix(kind) + name;
        Mapping mapping = lmrs.memory()
                .mapInternal(
                        record,
                        Permission.ATOMIC.bit(),
                        this,
                        () -> {
                            LmrRecord lmr = readOrMake(record, until);
                            endDoubt(record);
                            return lmr;
                        },
                        until);
        return new SyncWord(mapping);
    }

    private static String prefix(Kind kind) {
        return ClusterDirectory.INTERNAL_PREFIX + kind.name().toLowerCase(Locale.ROOT) + "/";
    }

    /** Whether a record's name belongs to a word. */
    public static boolean isWord(String record) {
        return Arrays.stream(Kind.values()).anyMatch(kind -> record.startsWith(prefix(kind)));
    }

    private Optional<LmrRecord> read(String record, Deadline until) {
        return directory.read(record, until.remaining()).map(found -> LmrRecord.decode(found.bytes()));
    }

    private LmrRecord readOrMake(String record, Deadline until) {
        while (true) {
            Optional<LmrRecord> known = read(record, until).or(() -> make(record, until));
            if (known.isPresent()) {
                return known.get();
            }
            if (until.passed()) {
                throw new ClusterUnavailableException(
                        until.expired("opening a lock or barrier, whose record is removed and created all the time"));
            }
        }
    }

    /** Creates the record; empty if there is one already, which may be removed by now. */
    private Optional<LmrRecord> make(String record, Deadline until) {
        LmrRecord doubted = doubtful.remove(record); // so that nobody settles it meanwhile
        if (doubted != null && !lmrs.records().isUnpublished(doubted.id())) {
            doubted = null; // this node was gone for long, and its memory may have been freed
        }
        if (doubted == null) {
            settleDoubts(until);
        }
        LmrRecord lmr = doubted == null ? allocateUnpublished(until) : doubted;
        boolean answered = false;
        boolean created;
        try {
            created = directory.create(record, lmr.encode(), until.remaining());
            answered = true;
        } finally {
            if (!answered) {
                doubt(record, lmr);
            }
        }
        if (!created) {
            lmrs.reclaimer().giveBackLater(lmr); // another node was faster
        }
        lmrs.records().endUnpublished(lmr.id());
        return created ? Optional.of(lmr) : Optional.empty();
    }

    private LmrRecord allocateUnpublished(Deadline until) {
        LmrRecord lmr = allocate(until);
        lmrs.records().beginUnpublished(lmr.id());
        return lmr;
    }

    private void doubt(String record, LmrRecord lmr) {
        LmrRecord other = doubtful.put(record, lmr);
        if (other != null) {
            lmrs.records().endUnpublished(other.id());
        }
    }

    /**
     * Makes room for one more. Their names may never be opened again, and an application can make many, by giving the creations too little
     * time. An answer of the directory shows that a creation is over: the word has its record, or it is an orphan.
     */
    private void settleDoubts(Deadline until) {
        while (doubtful.size() >= DOUBTFUL_MAX) {
            Map.Entry<String, LmrRecord> oldest = takeOldestDoubt();
            if (oldest == null) {
                return;
            }
            boolean settled = false;
            try {
                Optional<LmrRecord> unused = read(oldest.getKey(), until);
                settled = true;
            } finally {
                if (!settled) {
                    doubt(oldest.getKey(), oldest.getValue());
                }
            }
            lmrs.records().endUnpublished(oldest.getValue().id());
        }
    }

    private Map.@Nullable Entry<String, LmrRecord> takeOldestDoubt() {
        synchronized (doubtful) {
            Iterator<Map.Entry<String, LmrRecord>> all = doubtful.entrySet().iterator();
            if (!all.hasNext()) {
                return null;
            }
            Map.Entry<String, LmrRecord> oldest = Map.Entry.copyOf(all.next());
            all.remove();
            return oldest;
        }
    }

    private void endDoubt(String record) {
        LmrRecord lmr = doubtful.remove(record);
        if (lmr != null) {
            lmrs.records().endUnpublished(lmr.id());
        }
    }

    private LmrRecord allocate(Deadline until) {
        long id = lmrs.records().newId(until);
        return record(id, lmrs.memory().allocateWord(id, SyncWord.BYTES, until));
    }

    private static LmrRecord record(long id, Share share) {
        return new LmrRecord(
                id,
                LmrRecord.State.LIVE,
                SyncWord.BYTES,
                Layout.chunkShift(SyncWord.BYTES, 1),
                0,
                Map.of(),
                List.of(share));
    }

    @Override
    public boolean isHere(WordRef ref) {
        return allocator.holds(ref.lmrId(), new ExtentRun(ref.offset(), SyncWord.BYTES, ref.entry()));
    }

    @Override
    public SyncWord own(WordRef ref) {
        if (!isHere(ref)) {
            throw new LmrFreedException(
                    "node %s has no word at offset %d for the lock or barrier %d: it was removed, or the node restarted with a new arena"
                            .formatted(lmrs.places().nodeName(self), ref.offset(), ref.lmrId()));
        }
        Mapping mapping = lmrs.memory().mapOwn(ownRecord(ref), Permission.ATOMIC.bit(), this, Deadline.in(deadline));
        own.add(mapping);
        if (closed) { // close() sees the mapping, or this sees closed
            mapping.end(stops());
        }
        return new SyncWord(mapping);
    }

    private LmrRecord ownRecord(WordRef ref) {
        Run run = new Run(ref.offset(), SyncWord.BYTES, ref.entry());
        return record(ref.lmrId(), new Share(self, arena.id(), List.of(run)));
    }

    @Override
    public boolean isFreeing() {
        return lmrs.reclaimer().isFreeing() || allocator.uncleanBytes() > 0;
    }

    @Override
    public long ticketFloor(Deadline until) {
        return floor.read(until);
    }

    @Override
    public void raiseTicketFloor(long ticket, Deadline until) {
        floor.raise(ticket, until);
    }

    @Override
    public boolean remove(Named word, Deadline until) {
        String record = prefix(word.kind()) + word.name();
        WordRef ref = word.ref();
        Optional<LmrRecords.Found> found =
                lmrs.records().find(record, until).filter(now -> now.lmr().id() == ref.lmrId());
        if (found.isPresent()) {
            LmrRecord lmr = found.get().lmr();
            if (lmr.state() == LmrRecord.State.MOVING) {
                return false;
            }
            if (!SyncWord.ref(lmr).equals(ref)) {
                return true; // it moved away: its home is another node, or has another arena
            }
            if (!directory.delete(record, found.get().version(), until.remaining())) {
                return false; // a move began
            }
        }
        LmrRecord doubted = doubtful.get(record);
        if (doubted != null && doubted.id() == ref.lmrId()) {
            endDoubt(record); // a retry must not publish it again
        }
        if (isHere(ref)) {
            lmrs.reclaimer().reclaimRemoved(record, ownRecord(ref));
        }
        return true;
    }

    /** The word that a record describes; empty if it is not the record of a word. */
    public static Optional<Named> named(String record, LmrRecord lmr) {
        return Arrays.stream(Kind.values())
                .filter(kind -> record.startsWith(prefix(kind)))
                .findFirst()
                .map(kind -> new Named(kind, record.substring(prefix(kind).length()), SyncWord.ref(lmr)));
    }

    @Override
    public void giveBack(SyncWord word) {
        own.remove(word.mapping());
        word.mapping().unmap();
    }

    @Override
    public RemoteMemory remoteMemory() {
        return lmrs.remoteMemory();
    }

    @Override
    public Duration deadline() {
        return deadline;
    }

    @Override
    public String nodeName(int node) {
        return lmrs.places().nodeName(node);
    }

    @Override
    public void unmapped(Mapping mapping) {
        lmrs.mappings().remove(mapping);
    }

    @Override
    public void moved(long lmrId) {
        moves.homeMoved(lmrId);
    }

    /** Ignores the record: no principal may use a word, and the tier always may. */
    @Override
    public int allowed(LmrRecord lmr) {
        return Permission.ATOMIC.bit();
    }

    @Override
    public void refresh(@Nullable String name, long lmrId, Deadline until) {
        try {
            lmrs.changes().followRecord(name, lmrId, until);
        } catch (LiteException e) {
            log.debug("the record of the word {} cannot be followed now: {}", lmrId, e.getMessage());
        }
    }

    private LmrUnavailableException stops() {
        return new LmrUnavailableException(
                "node %s stops".formatted(lmrs.places().nodeName(self)));
    }

    /** Ends every use of the words when the node stops. */
    @Override
    public void close() {
        closed = true;
        LiteException why = stops();
        try {
            List<Mapping> all = new ArrayList<>(lmrs.mappings().of(this));
            all.addAll(own);
            lmrs.changes().endAll(all, why);
        } catch (LiteTimeoutException e) {
            log.info("locks and barriers ended: {}", e.getMessage());
        }
    }
}
