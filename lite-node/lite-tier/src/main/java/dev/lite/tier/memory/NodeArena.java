package dev.lite.tier.memory;

import dev.lite.os.Errno;
import dev.lite.os.OpenDirectory;
import dev.lite.os.OsException;
import dev.lite.os.RawMemory;
import dev.lite.os.SharedMemory;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.zip.CRC32C;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The memory of a node: one preallocated shared file that outlives the process if its configuration says so. The node carves every LMR from it. Each
 * fabric registers it once, and registers nothing else (the paper's global MR, §4.1).
 *
 * <p>The file, in bytes from its start; all numbers in native byte order:
 *
 * <pre>
 *      0  header page: what the file is (checked by a CRC), and the node id and open count, which change
 *   4096  extent table: {@link ExtentTable}, 32 bytes per entry
 *      …  control area: peersMax × {@link #CONTROL_BYTES} for the control messages of each peer
 *      …  data: the memory of the LMRs, from a multiple of 4096 to the end
 * </pre>
 *
 * <p>An arena that is {@linkplain ArenaConfig.Kept#NEVER never kept} has no name, no directory and no lock: nothing has to
 * be removed, however the process ends.
 *
 * <p>Only the process that holds the lock file beside the arena changes header and tables; peers touch the data and the
 * control area. One thread opens and closes; the rest is immutable.
 */
public final class NodeArena implements AutoCloseable {
    /** Bytes of the control area of one peer. */
    public static final long CONTROL_BYTES = 32 << 10;

    private static final Logger log = LoggerFactory.getLogger(NodeArena.class);

    /** The first user of a default directory closes it to all others. */
    private static final String OWN_DIRECTORY =
            "Set lite.node.arena.directory (of an embedded node: lite.embedded.arena-directory) to a directory of this user's on a memory file system, below /dev/shm";

    private static final String FILE = "arena";
    private static final String LOCK = "lock";
    /** See {@link #keyFile}. */
    private static final String KEY = "key";

    private static final long PAGE = 4096;
    private static final long MAGIC = 0x4c49_5445_6172_6e61L; // "LITEarna"
    private static final int FORMAT_VERSION = 1;

    private static final long AT_MAGIC = 0;
    private static final long AT_VERSION = 8;
    private static final long AT_EXTENTS_MAX = 12;
    private static final long AT_BYTES = 16;
    private static final long AT_PEERS_MAX = 24;
    private static final long AT_ID_HIGH = 32;
    private static final long AT_ID_LOW = 40;
    private static final long AT_NAMES = 64; // cluster, then node: a length byte and up to 127 bytes each
    private static final long NAME_BYTES = 128;
    private static final long FIXED_BYTES = AT_NAMES + 2 * NAME_BYTES;
    private static final long AT_CRC = FIXED_BYTES;
    private static final long AT_NODE_ID = FIXED_BYTES + 8; // id + 1, so that zero means none
    private static final long AT_OPEN_COUNT = FIXED_BYTES + 16;

    private final ArenaConfig config;
    private final @Nullable FileChannel lockFile;
    private final SharedMemory memory;
    private final boolean adopted;
    private final UUID id;
    private final ExtentTable table;
    private boolean closed;

    private NodeArena(ArenaConfig config, @Nullable FileChannel lockFile, SharedMemory memory, boolean adopted) {
        this.config = config;
        this.lockFile = lockFile;
        this.memory = memory;
        this.adopted = adopted;
        this.id = new UUID(
                RawMemory.getLong(memory.address() + AT_ID_HIGH), RawMemory.getLong(memory.address() + AT_ID_LOW));
        this.table = new ExtentTable(memory.address() + PAGE, config.extentsMax());
    }

    /** The last step of opening. Comes after all checks, so a refused file stays unchanged. */
    private NodeArena opened() {
        RawMemory.putLong(memory.address() + AT_OPEN_COUNT, openCount() + 1);
        return this;
    }

    /**
     * Adopts the arena of an earlier run of this node, byte for byte, or creates a new one. One that is never kept is always
     * new.
     *
     * @throws ArenaException if another process runs this node, there is too little memory, or the existing file does
     *     not match the configuration or fails its checks; the file stays unchanged then
     */
    public static NodeArena open(ArenaConfig config) {
        if (config.kept() == ArenaConfig.Kept.NEVER) {
            return createUnnamed(config);
        }
        while (true) {
            try (OpenDirectory held = prepare(config)) {
                FileChannel lock = lock(openLock(held, config), config);
                if (lock != null) {
                    return open(config, held, lock);
                }
            }
        }
    }

    private static NodeArena open(ArenaConfig config, OpenDirectory held, FileChannel lock) {
        Path file = held.resolve(FILE);
        try {
            if (Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
                return adopt(config, lock, held);
            }
            return create(config, lock, file);
        } catch (RuntimeException | Error e) {
            if (Files.notExists(file, LinkOption.NOFOLLOW_LINKS)) {
                removeDirectories(config);
            }
            closeQuietly(lock);
            throw e;
        }
    }

    private static OpenDirectory prepare(ArenaConfig config) {
        try {
            return ArenaPath.prepare(config.root(), config.directory());
        } catch (IOException | OsException e) {
            throw new ArenaException(
                    "cannot create the arena directory %s: %s. %s"
                            .formatted(config.directory(), reason(e), OWN_DIRECTORY),
                    e);
        }
    }

    static FileChannel openLock(OpenDirectory held, ArenaConfig config) {
        try {
            return FileChannel.open(
                    held.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS);
        } catch (IOException e) {
            throw cannotLock(config, e);
        }
    }

    /**
     * Locks the open lock file. Closes it if that fails.
     *
     * @return null if the lock file was removed meanwhile, by a process that closed this arena
     */
    static @Nullable FileChannel lock(FileChannel channel, ArenaConfig config) {
        Path directory = config.directory();
        try {
            FileLock lock = channel.tryLock();
            if (lock != null) {
                if (isNamed(channel, directory.resolve(LOCK))) {
                    return channel;
                }
                closeQuietly(channel);
                return null;
            }
        } catch (OverlappingFileLockException e) {
            // This process holds the lock itself: refuse as for another process.
        } catch (IOException e) {
            closeQuietly(channel);
            throw cannotLock(config, e);
        }
        closeQuietly(channel);
        throw new ArenaException(
                "node \"%s\" of cluster \"%s\" already runs on this host: another process holds %s. Change lite.node.name of this node, or stop the other process"
                        .formatted(config.node(), config.cluster(), directory.resolve(LOCK)),
                null);
    }

    private static ArenaException cannotLock(ArenaConfig config, IOException e) {
        return new ArenaException("cannot lock the arena directory %s: %s".formatted(config.directory(), reason(e)), e);
    }

    /** Whether a locked file still has its name. Tells by a random size: to open the file again would end the lock. */
    private static boolean isNamed(FileChannel locked, Path name) throws IOException {
        int size = ThreadLocalRandom.current().nextInt(1, Integer.MAX_VALUE);
        try {
            int unused = locked.write(ByteBuffer.allocate(1), size - 1);
        } catch (IOException full) {
            return true; // an arena that exists needs no more room
        }
        try {
            return Files.readAttributes(name, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                            .size()
                    == size;
        } catch (NoSuchFileException removed) {
            return false;
        } finally {
            locked.truncate(0);
        }
    }

    /** @param file the path of the arena by the open directory */
    private static NodeArena create(ArenaConfig config, FileChannel lock, Path file) {
        long bytes = fileBytes(config);
        // Create it under another name and rename it when complete: nobody adopts an incomplete file.
        Path unfinished = file.resolveSibling(FILE + ".new");
        SharedMemory memory = null;
        try {
            Files.deleteIfExists(unfinished);
            memory = SharedMemory.createFile(unfinished, bytes);
            writeHeader(memory.address(), config, bytes);
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (OsException | IOException e) {
            if (memory != null) {
                memory.close();
            }
            throw new ArenaException(
                    "cannot create the arena %s of %d bytes: %s. Free space on its file system: %d bytes"
                            .formatted(config.directory().resolve(FILE), bytes, reason(e), usable(file)),
                    e);
        }
        return new NodeArena(config, lock, memory, false).opened();
    }

    private static NodeArena createUnnamed(ArenaConfig config) {
        long bytes = fileBytes(config);
        Path fileSystem = config.root().toAbsolutePath();
        for (Path above = fileSystem; above != null && !Files.isDirectory(fileSystem); above = above.getParent()) {
            fileSystem = above; // the root itself would be left behind
        }
        SharedMemory memory = null;
        try {
            memory = SharedMemory.createUnnamed(fileSystem, bytes);
            writeHeader(memory.address(), config, bytes);
            return new NodeArena(config, null, memory, false).opened();
        } catch (OsException | ArenaException e) {
            if (memory != null) {
                memory.close();
            }
            throw new ArenaException(
                    "cannot create an arena of %d bytes in %s: %s. Free space on its file system: %d bytes%s"
                            .formatted(
                                    bytes,
                                    fileSystem,
                                    reason(e),
                                    usable(fileSystem.resolve(FILE)),
                                    Files.isWritable(fileSystem) ? "" : ". " + OWN_DIRECTORY),
                    e);
        }
    }

    /** The size of the arena; checks that it has room for its tables. */
    private static long fileBytes(ArenaConfig config) {
        long bytes = roundUp(config.bytes(), PAGE);
        long overhead = dataOffset(config);
        if (overhead + PAGE > bytes) {
            throw new ArenaException(
                    "the arena size is %d bytes, but its tables for %d extents and %d nodes take %d; make lite.node.arena.size larger"
                            .formatted(bytes, config.extentsMax(), config.peersMax(), overhead),
                    null);
        }
        return bytes;
    }

    private static NodeArena adopt(ArenaConfig config, FileChannel lock, OpenDirectory held) {
        Path file = config.directory().resolve(FILE);
        SharedMemory memory;
        try {
            memory = SharedMemory.openFile(held, FILE);
        } catch (OsException e) {
            if (e.errno() == Errno.ELOOP) {
                throw ArenaPath.isLink(file);
            }
            throw new ArenaException("cannot map the arena %s: %s".formatted(file, reason(e)), e);
        } catch (IllegalArgumentException e) {
            throw new ArenaException("cannot map the arena %s: %s".formatted(file, reason(e)), e);
        }
        try {
            ArenaPath.checkFile(file, memory.descriptor());
            checkHeader(memory, config, file);
            NodeArena arena = new NodeArena(config, lock, memory, true);
            arena.table.check(file, arena.dataOffset(), memory.size());
            return arena.opened();
        } catch (IOException e) {
            memory.close();
            throw new ArenaException("cannot check the arena %s: %s".formatted(file, reason(e)), e);
        } catch (RuntimeException | Error e) {
            memory.close();
            throw e;
        }
    }

    private static void writeHeader(long base, ArenaConfig config, long bytes) {
        UUID id = UUID.randomUUID();
        RawMemory.putLong(base + AT_MAGIC, MAGIC);
        RawMemory.putInt(base + AT_VERSION, FORMAT_VERSION);
        RawMemory.putInt(base + AT_EXTENTS_MAX, config.extentsMax());
        RawMemory.putLong(base + AT_BYTES, bytes);
        RawMemory.putLong(base + AT_PEERS_MAX, config.peersMax());
        RawMemory.putLong(base + AT_ID_HIGH, id.getMostSignificantBits());
        RawMemory.putLong(base + AT_ID_LOW, id.getLeastSignificantBits());
        writeName(base + AT_NAMES, config.cluster());
        writeName(base + AT_NAMES + NAME_BYTES, config.node());
        RawMemory.putLong(base + AT_CRC, headerCrc(base));
    }

    private static void checkHeader(SharedMemory memory, ArenaConfig config, Path file) {
        long base = memory.address();
        if (memory.size() < ArenaConfig.BYTES_MIN || RawMemory.getLong(base + AT_MAGIC) != MAGIC) {
            throw unusable(file, "it is not an arena of LITE");
        }
        if (RawMemory.getInt(base + AT_VERSION) != FORMAT_VERSION) {
            throw unusable(
                    file,
                    "its format version is %d; this program reads version %d"
                            .formatted(RawMemory.getInt(base + AT_VERSION), FORMAT_VERSION));
        }
        if (RawMemory.getLong(base + AT_CRC) != headerCrc(base)) {
            throw unusable(file, "its header fails its checksum");
        }
        if (RawMemory.getLong(base + AT_BYTES) != memory.size()) {
            throw unusable(
                    file,
                    "its header says %d bytes, the file has %d"
                            .formatted(RawMemory.getLong(base + AT_BYTES), memory.size()));
        }
        String cluster = readName(base + AT_NAMES);
        String node = readName(base + AT_NAMES + NAME_BYTES);
        if (!cluster.equals(config.cluster()) || !node.equals(config.node())) {
            throw unusable(file, "it belongs to node \"%s\" of cluster \"%s\"".formatted(node, cluster));
        }
        long wanted = roundUp(config.bytes(), PAGE);
        if (memory.size() != wanted) {
            throw unusable(
                    file, "it has %d bytes, but lite.node.arena.size asks for %d".formatted(memory.size(), wanted));
        }
        int extents = RawMemory.getInt(base + AT_EXTENTS_MAX);
        long peers = RawMemory.getLong(base + AT_PEERS_MAX);
        if (extents != config.extentsMax() || peers != config.peersMax()) {
            throw unusable(
                    file,
                    "it has %d extents and %d nodes, but the configuration asks for %d and %d"
                            .formatted(extents, peers, config.extentsMax(), config.peersMax()));
        }
    }

    private static ArenaException unusable(Path file, String why) {
        return new ArenaException(
                "cannot adopt the arena %s: %s. Restore the former configuration, or delete the file if you no longer need its content"
                        .formatted(file, why),
                null);
    }

    /** The address of the arena's byte 0 in this process. */
    public long address() {
        return memory.address();
    }

    /** Bytes of the whole file. */
    public long size() {
        return memory.size();
    }

    /** The whole file. */
    public MemorySegment segment() {
        return memory.segment();
    }

    /** The file's descriptor; the arena keeps ownership. */
    public int descriptor() {
        return memory.descriptor();
    }

    /** Whether opening adopted an existing file, not a new one. */
    public boolean isAdopted() {
        return adopted;
    }

    /** A random id, drawn when the file was created: a new file for the same node has another id. */
    public UUID id() {
        return id;
    }

    /** How often processes have opened the arena, this time included. */
    public long openCount() {
        return RawMemory.getLong(memory.address() + AT_OPEN_COUNT);
    }

    /** The node id by which LMRs refer to this arena, or -1 if not set yet. */
    public int nodeId() {
        return (int) RawMemory.getLong(memory.address() + AT_NODE_ID) - 1;
    }

    /** Sets {@link #nodeId}. */
    public void setNodeId(int nodeId) {
        RawMemory.putLongRelease(memory.address() + AT_NODE_ID, nodeId + 1L);
    }

    /** The start of the control areas, in bytes from the start of the arena. */
    public long controlOffset() {
        return controlOffset(config);
    }

    /** How many peers have a control area. */
    public int peersMax() {
        return config.peersMax();
    }

    /** The start of the data, in bytes from the start of the arena. */
    public long dataOffset() {
        return dataOffset(config);
    }

    ExtentTable table() {
        return table;
    }

    private static long controlOffset(ArenaConfig config) {
        return roundUp(PAGE + ExtentTable.ENTRY_BYTES * (long) config.extentsMax(), PAGE);
    }

    private static long dataOffset(ArenaConfig config) {
        return roundUp(controlOffset(config) + CONTROL_BYTES * config.peersMax(), PAGE);
    }

    /** The file for the key of the node, beside the arena and removed with it; null if the arena has no name. */
    public @Nullable Path keyFile() {
        return lockFile == null ? null : config.directory().resolve(KEY);
    }

    /** Unmaps the memory, and deletes its file if it is only kept after a crash. Nobody may touch the arena afterwards. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        memory.close();
        if (config.kept() == ArenaConfig.Kept.AFTER_CRASH) {
            try {
                Files.deleteIfExists(config.directory().resolve(FILE));
            } catch (IOException e) {
                log.warn("cannot delete the arena in {}: {}", config.directory(), reason(e));
            }
            removeDirectories(config);
        }
        closeQuietly(lockFile);
    }

    /** Removes the key and the lock file, and then the directories that are empty. The caller holds the lock. */
    private static void removeDirectories(ArenaConfig config) {
        Path directory = config.directory();
        try {
            Files.deleteIfExists(directory.resolve(KEY));
            Files.deleteIfExists(directory.resolve(LOCK));
            Files.deleteIfExists(directory);
            Files.deleteIfExists(config.root().resolve(config.cluster()));
            Files.deleteIfExists(config.root());
        } catch (IOException e) {
            log.debug("kept an arena directory: {}", reason(e)); // it holds the arenas of other nodes
        }
    }

    private static long headerCrc(long base) {
        CRC32C crc = new CRC32C();
        crc.update(RawMemory.all().asSlice(base, FIXED_BYTES).toArray(ValueLayout.JAVA_BYTE));
        return crc.getValue();
    }

    private static void writeName(long address, String name) {
        ByteBuffer bytes = StandardCharsets.UTF_8.encode(name);
        if (bytes.remaining() >= NAME_BYTES) {
            throw new ArenaException(
                    "the name \"%s\" has %d bytes; the limit is %d".formatted(name, bytes.remaining(), NAME_BYTES - 1),
                    null);
        }
        MemorySegment field = RawMemory.all().asSlice(address, NAME_BYTES);
        field.set(ValueLayout.JAVA_BYTE, 0, (byte) bytes.remaining());
        MemorySegment.copy(MemorySegment.ofBuffer(bytes), 0, field, 1, bytes.remaining());
    }

    private static String readName(long address) {
        MemorySegment field = RawMemory.all().asSlice(address, NAME_BYTES);
        int length = field.get(ValueLayout.JAVA_BYTE, 0);
        return new String(field.asSlice(1, length).toArray(ValueLayout.JAVA_BYTE), StandardCharsets.UTF_8);
    }

    private static long roundUp(long value, long multiple) {
        return Math.ceilDiv(value, multiple) * multiple;
    }

    private static long usable(Path file) {
        try {
            Path directory = file.getParent();
            return Files.getFileStore(directory == null ? file : directory).getUsableSpace();
        } catch (IOException e) {
            return -1;
        }
    }

    private static String reason(Exception e) {
        // The message of its subclasses is only the path.
        return (e instanceof FileSystemException failure && failure.getReason() == null) || e.getMessage() == null
                ? e.getClass().getSimpleName() + " " + e.getMessage()
                : e.getMessage();
    }

    private static void closeQuietly(@Nullable FileChannel channel) {
        if (channel != null) {
            try {
                channel.close();
            } catch (IOException e) {
                // The close releases the lock in any case.
            }
        }
    }
}
