package dev.lite.log;

import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LmrExistsException;
import dev.lite.api.LmrFreedException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrNotFoundException;
import dev.lite.api.LmrPermissionException;
import dev.lite.api.LmrSpec;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.NodeUnreachableException;
import dev.lite.api.Permission;
import dev.lite.api.Placement;
import java.time.Duration;
import java.util.EnumSet;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Creates and opens logs in a session. Any thread.
 *
 * <pre>{@code
 * LiteLogs logs = new LiteLogs(lite);
 * try (LiteLog log = logs.createOrOpen("shop/audit", LogSpec.defaults())) {
 *     log.append(entry);
 * }
 * }</pre>
 */
public final class LiteLogs implements AutoCloseable {
    /** The deadline of {@link #LiteLogs(Lite)}. */
    public static final Duration DEADLINE_DEFAULT = Duration.ofSeconds(10);

    /** A longer one has too many nanoseconds to be added to a time. */
    private static final Duration DEADLINE_MAX = Duration.ofDays(365);

    private static final Set<Permission> WRITER = EnumSet.of(Permission.READ, Permission.WRITE, Permission.ATOMIC);

    private final Lite lite;
    /** Asked for once: each stage that a session gives stays in its memory until it ends. */
    private final CompletableFuture<String> ended;

    private final Duration deadline;
    private final Set<LiteLog> open = ConcurrentHashMap.newKeySet();

    /** Appends and locks wait up to {@link #DEADLINE_DEFAULT}. */
    public LiteLogs(Lite lite) {
        this(lite, DEADLINE_DEFAULT);
    }

    /**
     * @param lite the session; stays the caller's
     * @param deadline how long an append, and the wait for a lock, may take; positive
     */
    public LiteLogs(Lite lite, Duration deadline) {
        this.lite = Objects.requireNonNull(lite, "lite");
        if (!Objects.requireNonNull(deadline, "deadline").isPositive()) {
            throw new IllegalArgumentException("the deadline is %s; it must be positive".formatted(deadline));
        }
        this.deadline = deadline.compareTo(DEADLINE_MAX) < 0 ? deadline : DEADLINE_MAX;
        ended = lite.ended().toCompletableFuture();
    }

    /**
     * Creates a log, and opens it.
     *
     * @throws LmrExistsException if there is a log of this name
     * @throws dev.lite.api.LimitExceededException if there is too little memory; nothing was created
     */
    public LiteLog create(String name, LogSpec spec) {
        Metadata.checkName(name);
        Objects.requireNonNull(spec, "spec");
        AtomicReference<@Nullable LmrHandle> made = new AtomicReference<>();
        boolean done = false;
        try {
            LiteLog log =
                    initialize(name, spec, made, () -> lite.memory().malloc(metadata(name, spec, placement(spec))));
            done = true;
            return log;
        } finally {
            LmrHandle half = done ? null : made.get();
            if (half != null) {
                freeHalf(name, half.id());
            }
        }
    }

    /** Of a log whose first segment could not be created; not of one that another process has completed meanwhile. */
    private void freeHalf(String name, long id) {
        try (LmrHandle handle = lite.memory().map(Metadata.name(name), Set.of(Permission.READ, Permission.MASTER))) {
            Metadata half = new Metadata(name, handle);
            boolean unused = locks(name).underTable(() -> {
                boolean isHalf = handle.id() == id && half.state() == Metadata.STATE_NEW;
                if (isHalf) {
                    freeSegments(half);
                    handle.free();
                }
                return isHalf;
            });
        } catch (LiteException e) {
            // The exception that is on its way says more; delete removes the rest.
        }
    }

    /**
     * Opens a log, or creates it if there is none: the call for services that restart and have replicas. Of several callers one creates the
     * log. The settings of a log that exists are not compared with {@code spec}; see {@link LiteLog#spec}.
     */
    public LiteLog createOrOpen(String name, LogSpec spec) {
        Metadata.checkName(name);
        Objects.requireNonNull(spec, "spec");
        AtomicReference<@Nullable LogStateException> state = new AtomicReference<>();
        try {
            return open(name);
        } catch (LmrNotFoundException e) {
            // It is created below.
        } catch (LogStateException e) {
            state.set(e);
        }
        return initialize(name, spec, new AtomicReference<>(), () -> {
            try {
                return lite.memory().createOrMap(metadata(name, spec, placement(spec)), WRITER);
            } catch (LmrExistsException e) {
                LogStateException found = state.get();
                throw found == null ? e : found;
            }
        });
    }

    /** Of one node, because the words of the metadata are the first that every process uses. */
    private static Placement placement(LogSpec spec) {
        if (spec.placement() instanceof Placement.OnNodes on) {
            return Placement.on(on.nodes().getFirst());
        }
        return spec.placement().equals(Placement.local()) ? Placement.local() : Placement.roundRobin();
    }

    private static LmrSpec metadata(String name, LogSpec spec, Placement placement) {
        return LmrSpec.of(Metadata.BYTES)
                .withName(Metadata.name(name))
                .withPlacement(placement)
                .withDefaultPermissions(spec.defaultPermissions().toArray(Permission[]::new));
    }

    /**
     * Makes the metadata and completes the log, also one whose creator ended halfway. Under the lock from
     * the beginning: a process that finds incomplete metadata, and then gets the lock, knows that its creator
     * has ended.
     *
     * @param made gets the metadata
     */
    private LiteLog initialize(
            String name, LogSpec spec, AtomicReference<@Nullable LmrHandle> made, Supplier<LmrHandle> maker) {
        boolean done = false;
        try {
            LiteLog log = locks(name).underTable(() -> {
                LmrHandle handle = maker.get();
                made.set(handle);
                return completed(new Metadata(name, handle), spec);
            });
            done = true;
            return remember(log);
        } finally {
            LmrHandle handle = done ? null : made.get();
            if (handle != null) {
                handle.unmap();
            }
        }
    }

    private LiteLog completed(Metadata metadata, LogSpec spec) {
        if (metadata.state() == Metadata.STATE_NEW) {
            metadata.store(spec);
            LiteLog log = new LiteLog(lite, ended, metadata, spec, true, deadline);
            boolean ready = false;
            try {
                prepare(log, metadata);
                metadata.markReady();
                ready = true;
                return log;
            } finally {
                if (!ready) {
                    log.close();
                }
            }
        }
        requireReady(metadata);
        return new LiteLog(lite, ended, metadata, metadata.spec(), true, deadline);
    }

    /** Nobody has used a segment of a log that is not ready. */
    private void prepare(LiteLog log, Metadata metadata) {
        try {
            log.prepare();
        } catch (LmrExistsException e) { // the creator that ended halfway had other settings
            freeSegments(metadata);
            log.prepare();
        }
    }

    private LogLocks locks(String name) {
        return new LogLocks(lite.sync(), name, deadline);
    }

    /**
     * Opens a log: for reading only, if this principal may only read it. Such a reader waits at a hole that a killed writer left until a
     * reader with more permissions has sealed it.
     *
     * @throws LmrNotFoundException if there is no log of this name
     * @throws LogStateException if its creator ended halfway, it was deleted, or the memory of this name is not that of a log
     */
    public LiteLog open(String name) {
        Metadata.checkName(name);
        boolean writable = true;
        LmrHandle handle;
        try {
            handle = lite.memory().map(Metadata.name(name), WRITER);
        } catch (LmrPermissionException e) {
            handle = lite.memory().map(Metadata.name(name), Permission.READ);
            writable = false;
        }
        Metadata metadata = new Metadata(name, handle);
        boolean done = false;
        try {
            metadata.requireLayout();
            if (metadata.state() == Metadata.STATE_NEW) {
                // Waits for a creator that is at work.
                lite.sync()
                        .lock(Metadata.name(name) + "/table")
                        .acquire(deadline)
                        .close();
            }
            requireReady(metadata);
            LiteLog log = new LiteLog(lite, ended, metadata, metadata.spec(), writable, deadline);
            done = true;
            return remember(log);
        } finally {
            if (!done) {
                handle.unmap();
            }
        }
    }

    private static void requireReady(Metadata metadata) {
        long state = metadata.state();
        if (state != Metadata.STATE_READY) {
            throw new LogStateException("the log \"%s\" %s"
                    .formatted(
                            metadata.log,
                            state == Metadata.STATE_NEW
                                    ? "is not complete; createOrOpen completes it, delete removes it"
                                    : "is being deleted"));
        }
    }

    private LiteLog remember(LiteLog log) {
        open.removeIf(LiteLog::isClosed);
        open.add(log);
        return log;
    }

    /**
     * Deletes a log with all its segments. Processes that have it open get {@link LmrFreedException} or {@link LogStateException}.
     * Needs the permission {@link Permission#MASTER} on its memory.
     *
     * @throws LmrNotFoundException if there is no log of this name
     * @throws LmrPermissionException if another principal made it, or one of its segments; nothing was changed
     */
    public void delete(String name) {
        Metadata.checkName(name);
        Set<Permission> permissions = EnumSet.allOf(Permission.class);
        try (LmrHandle handle = lite.memory().map(Metadata.name(name), permissions)) {
            Metadata metadata = new Metadata(name, handle);
            metadata.requireLayout();
            requireMaster(metadata);
            metadata.markDeleted();
            freeSegments(metadata);
            handle.free();
        }
    }

    /** So that a refusal comes before any change: another principal may have made a segment. */
    private void requireMaster(Metadata metadata) {
        long last = metadata.last() + 1;
        for (long number = LogCleaner.firstLeft(metadata); number <= last; number++) {
            try {
                lite.memory()
                        .map(metadata.segmentName(number), Permission.MASTER)
                        .unmap();
            } catch (LmrNotFoundException | LmrUnavailableException | NodeUnreachableException e) {
                // There is none, or freeSegments reports it.
            }
        }
    }

    /**
     * Frees all segments that can be freed.
     *
     * @throws LiteException of the first one that could not be
     */
    private void freeSegments(Metadata metadata) {
        LiteException failure = null;
        long last = metadata.last() + 1; // one is made in advance
        for (long number = LogCleaner.firstLeft(metadata); number <= last; number++) {
            try (LmrHandle segment = lite.memory().map(metadata.segmentName(number), Permission.MASTER)) {
                segment.free();
            } catch (LmrNotFoundException | LmrFreedException e) {
                // It was never made, or a cleaner freed it.
            } catch (LmrUnavailableException | NodeUnreachableException e) {
                failure = failure == null ? e : failure;
            }
        }
        if (failure != null) {
            throw failure;
        }
    }

    /** Closes the logs that were opened here and are still open. The session stays open. */
    @Override
    public void close() {
        open.forEach(LiteLog::close);
        open.clear();
    }
}
