package dev.lite.fabric.shm;

import dev.lite.fabric.AddressRange;
import dev.lite.fabric.driver.HandshakeException;
import dev.lite.os.Linux;
import dev.lite.os.SharedMemory;
import dev.lite.os.UnixSocket;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * The memories of peers that are mapped into this process until they are lost or the fabric is closed, each only once even if its
 * node connects several times. Also the processes that may have mapped this node's memory. Thread-safe.
 *
 * <p>Not final: a test lets it fail.
 */
class PeerMemories implements AutoCloseable {
    /**
     * Limits the address space used by peers that reconnect with new memory each time. Also the processes and nodes that are watched:
     * those of a process that cannot be seen count until this node stops, although it may have ended.
     */
    private static final int MAPPINGS_MAX = 4096;

    /** Identifies a file, independent of its name and descriptor. */
    private record Key(Object file, long bytes) {}

    private final Map<Key, PeerMemory> memories = new HashMap<>();
    private final Map<Integer, PeerProcess> processes = new HashMap<>();
    private final Map<Key, PeerPresence> presences = new HashMap<>(); // by the file of the node's doorbell
    private final int presencesMax;
    private boolean closed;

    PeerMemories() {
        this(MAPPINGS_MAX);
    }

    /** For tests: watches at most so many nodes. */
    PeerMemories(int presencesMax) {
        this.presencesMax = presencesMax;
    }

    /** The process at the other end of a socket, watched from now on until it ends or the fabric is closed. */
    PeerProcess process(UnixSocket socket) {
        return process(socket.peerCredentials().pid());
    }

    /** {@link #process(UnixSocket)} with this id. */
    synchronized PeerProcess process(int pid) {
        if (closed) {
            throw new HandshakeException("the fabric is closed");
        }
        processes.values().removeIf(PeerProcess::isForgotten); // process ids are reused
        PeerProcess known = processes.get(pid);
        if (known != null) {
            return known;
        }
        if (processes.size() == MAPPINGS_MAX) {
            throw new HandshakeException(
                    "%d processes may have this node's memory mapped, the limit".formatted(MAPPINGS_MAX));
        }
        PeerProcess process = PeerProcess.watch(pid);
        try {
            processes.put(pid, process);
            return process;
        } catch (RuntimeException | Error e) { // also without memory
            process.close();
            throw e;
        }
    }

    /** The node with this doorbell in the process, watched until it leaves, its process ends or the fabric is closed. */
    synchronized PeerPresence presence(PeerProcess process, Doorbell doorbell) {
        if (closed) {
            throw new HandshakeException("the fabric is closed");
        }
        presences.values().removeIf(PeerPresence::hasEnded);
        try {
            Key key = key(doorbell.descriptor(), Linux.pageSize());
            PeerPresence known = presences.get(key);
            return known == null ? watch(key, process, doorbell) : known;
        } catch (IOException e) {
            throw new HandshakeException("the peer's doorbell cannot be identified: " + e.getMessage(), e);
        }
    }

    private synchronized PeerPresence watch(Key key, PeerProcess process, Doorbell doorbell) {
        if (presences.size() == presencesMax) {
            throw new HandshakeException(
                    "%d nodes may have this node's memory mapped, the limit".formatted(presencesMax));
        }
        Doorbell own = doorbell.mapAgain();
        try {
            PeerPresence made = new PeerPresence(process, own);
            presences.put(key, made);
            return made;
        } catch (RuntimeException | Error e) { // also without memory
            own.close();
            throw e;
        }
    }

    /** Adds this node's own memory, which is mapped already and is needed when the node connects to itself. */
    synchronized void addOwn(int descriptor, long address, long bytes) throws IOException {
        memories.put(key(descriptor, bytes), PeerMemory.own(address, bytes));
    }

    /**
     * Maps the memory, unless it is mapped already, and {@linkplain PeerMemory#link links} it for a connection. Either the connection
     * is made and the memory is {@linkplain PeerMemory#offeredBy that of a node}, or {@link #giveUp} follows. Takes ownership of the
     * descriptor.
     *
     * @throws HandshakeException if it cannot be mapped, or the fabric is closed
     */
    synchronized PeerMemory map(int descriptor, long bytes) {
        Key key;
        try {
            if (closed) {
                throw new HandshakeException("the fabric is closed");
            }
            key = key(descriptor, bytes);
            PeerMemory known = memories.get(key);
            if (known != null) {
                known.link();
                Linux.closeDescriptor(descriptor);
                return known;
            }
            if (memories.size() > MAPPINGS_MAX) { // one is this node's own
                throw new HandshakeException("%d memories of peers are mapped, the limit".formatted(MAPPINGS_MAX));
            }
        } catch (IOException e) {
            Linux.closeDescriptor(descriptor);
            throw new HandshakeException("the peer's memory cannot be identified: " + e.getMessage(), e);
        } catch (RuntimeException | Error e) { // also without memory
            Linux.closeDescriptor(descriptor);
            throw e;
        }
        // A file in /dev/shm cannot be sealed, so nodes are trusted not to truncate their memory.
        SharedMemory mapping = SharedMemory.fromDescriptor(descriptor, bytes, false);
        try {
            PeerMemory memory = PeerMemory.of(mapping);
            memory.link();
            memories.put(key, memory);
            return memory;
        } catch (RuntimeException | Error e) { // also without memory
            mapping.close();
            throw e;
        }
    }

    /** The connection for which {@link #map} was called is not made. Unmaps the memory, unless another connection has used it or will. */
    synchronized void giveUp(PeerMemory mapped) {
        mapped.unlink();
        memories.values().removeIf(memory -> {
            boolean ends = memory == mapped && memory.isOfNobody();
            if (ends) {
                memory.close();
            }
            return ends;
        });
    }

    /** See {@link dev.lite.fabric.Fabric#lostMemories}. */
    synchronized List<AddressRange> lost() {
        return memories.values().stream()
                .filter(PeerMemory::isLost)
                .map(PeerMemory::range)
                .toList();
    }

    /** See {@link dev.lite.fabric.Fabric#unmap}. */
    synchronized void unmap(AddressRange lost) {
        memories.values().removeIf(memory -> {
            boolean ends = memory.range().equals(lost) && memory.isLost();
            if (ends) {
                memory.close();
            }
            return ends;
        });
    }

    private static Key key(int descriptor, long bytes) throws IOException {
        var attributes = Files.readAttributes(Path.of("/proc/self/fd/" + descriptor), BasicFileAttributes.class);
        var file = attributes.fileKey();
        if (file == null) {
            throw new IOException("descriptor %d has no identity".formatted(descriptor));
        }
        return new Key(file, bytes);
    }

    @Override
    public synchronized void close() {
        closed = true;
        memories.values().forEach(PeerMemory::close);
        memories.clear();
        presences.values().forEach(PeerPresence::close);
        presences.clear();
        processes.values().forEach(PeerProcess::close);
        processes.clear();
    }
}
