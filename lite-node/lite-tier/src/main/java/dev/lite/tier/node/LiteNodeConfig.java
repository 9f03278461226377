package dev.lite.tier.node;

import dev.lite.tier.memory.ArenaConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * The configuration of a node. Made by {@link #builder}.
 *
 * @param cluster the cluster's name: 1 to 63 of {@code a–z A–Z 0–9 . _ -}
 * @param name the node's stable name, likewise
 * @param arenaRoot the directory of all arenas, on a memory file system
 * @param arenaBytes the size of the memory this node contributes
 * @param arenaRetained whether the arena stays after a clean shutdown
 * @param runDirectory where sockets are put; created when it is missing
 * @param limits what applications may take
 * @param deadline how long an operation may wait when its call says nothing
 * @param pollSpins poll spins before a waiting thread sleeps, at most
 * @param fabricOptions by a driver's name, its own settings; a driver that is not named has none
 */
public record LiteNodeConfig(
        String cluster,
        String name,
        Path arenaRoot,
        long arenaBytes,
        boolean arenaRetained,
        Path runDirectory,
        Limits limits,
        Duration deadline,
        int pollSpins,
        Map<String, Map<String, String>> fabricOptions) {

    /** Copies what could change. */
    public LiteNodeConfig {
        fabricOptions = fabricOptions.entrySet().stream()
                .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, entry -> Map.copyOf(entry.getValue())));
    }

    /**
     * Limits, checked before anything is taken.
     *
     * @param lmrBytesMax the largest LMR, in bytes
     * @param handlesPerSession how many handles a session may have
     * @param extentsMax how many extents this node's arena may hold; 0: one for every 4 KiB of it
     * @param nodesMax how many nodes the cluster may have; ids are below it
     * @param bytesPerPrincipal how much of this node's arena the LMRs that one principal made may take, in bytes; {@link
     *     Long#MAX_VALUE}: as much as there is, and it is not counted
     */
    public record Limits(
            long lmrBytesMax, int handlesPerSession, int extentsMax, int nodesMax, long bytesPerPrincipal) {
        /** No limit for an LMR or a principal but the memory; 1 Mi handles; extents by the arena's size; 64 nodes. */
        public static final Limits DEFAULT = new Limits(Long.MAX_VALUE, 1 << 20, 0, 64);

        /** Checks the values. */
        public Limits {
            if (lmrBytesMax < 1 || handlesPerSession < 1 || extentsMax < 0 || bytesPerPrincipal < 1) {
                throw new IllegalArgumentException(
                        "limits must be positive: %d bytes per LMR, %d handles per session, %d extents, %d bytes per principal"
                                .formatted(lmrBytesMax, handlesPerSession, extentsMax, bytesPerPrincipal));
            }
        }

        /** Without a limit per principal. */
        public Limits(long lmrBytesMax, int handlesPerSession, int extentsMax, int nodesMax) {
            this(lmrBytesMax, handlesPerSession, extentsMax, nodesMax, Long.MAX_VALUE);
        }

        /** The same with a limit per principal. */
        public Limits withBytesPerPrincipal(long bytes) {
            return new Limits(lmrBytesMax, handlesPerSession, extentsMax, nodesMax, bytes);
        }
    }

    /**
     * The default of {@link #pollSpins}: 50 to 100 µs, about as long as it takes to wake an idle processor. Each miss makes it
     * shorter, so a node with little to do spends little on it.
     */
    public static int pollSpinsDefault() {
        int processors = Runtime.getRuntime().availableProcessors();
        return processors == 1 ? 0 : 2000;
    }

    /** A node with default limits, a deadline of ten seconds and a retained arena in {@code /dev/shm/lite}. */
    public static Builder builder(String cluster, String name, long arenaBytes, Path runDirectory) {
        return new Builder(cluster, name, arenaBytes, runDirectory);
    }

    /** A builder that begins with these values. */
    public Builder toBuilder() {
        Builder builder = new Builder(cluster, name, arenaBytes, runDirectory)
                .arena(arenaRoot, arenaRetained)
                .limits(limits)
                .deadline(deadline)
                .pollSpins(pollSpins);
        builder.fabricOptions.putAll(fabricOptions);
        return builder;
    }

    /** Builds the configuration of a node. One thread. */
    public static final class Builder {
        private final String cluster;
        private final String name;
        private final long arenaBytes;
        private final Path runDirectory;
        private final Map<String, Map<String, String>> fabricOptions = new HashMap<>();
        private Path arenaRoot = Path.of("/dev/shm/lite");
        private boolean arenaRetained = true;
        private Limits limits = Limits.DEFAULT;
        private Duration deadline = Duration.ofSeconds(10);
        private int pollSpins = pollSpinsDefault();

        private Builder(String cluster, String name, long arenaBytes, Path runDirectory) {
            this.cluster = cluster;
            this.name = name;
            this.arenaBytes = arenaBytes;
            this.runDirectory = runDirectory;
        }

        /** The root of the arenas, and whether this node's arena stays after a clean shutdown. */
        public Builder arena(Path root, boolean retained) {
            arenaRoot = root;
            arenaRetained = retained;
            return this;
        }

        /** What applications may take. */
        public Builder limits(Limits newLimits) {
            limits = newLimits;
            return this;
        }

        /** How long an operation may wait when its call says nothing. */
        public Builder deadline(Duration newDeadline) {
            deadline = newDeadline;
            return this;
        }

        /** Poll spins before a waiting thread sleeps, at most. */
        public Builder pollSpins(int spins) {
            pollSpins = spins;
            return this;
        }

        /** Settings of one driver. */
        public Builder fabricOptions(String driver, Map<String, String> options) {
            fabricOptions.put(driver, options);
            return this;
        }

        /** The configuration. */
        public LiteNodeConfig build() {
            return new LiteNodeConfig(
                    cluster,
                    name,
                    arenaRoot,
                    arenaBytes,
                    arenaRetained,
                    runDirectory,
                    limits,
                    deadline,
                    pollSpins,
                    fabricOptions);
        }
    }

    /** Without the values of the fabrics' options: one may be a secret. */
    @Override
    public String toString() {
        return "LiteNodeConfig[cluster=%s, name=%s, arenaRoot=%s, arenaBytes=%d, runDirectory=%s, fabricOptions of %s]"
                .formatted(cluster, name, arenaRoot, arenaBytes, runDirectory, fabricOptions.keySet());
    }

    ArenaConfig arena() {
        int extents = limits.extentsMax() == 0 ? ArenaConfig.extentsMaxDefault(arenaBytes) : limits.extentsMax();
        return new ArenaConfig(arenaRoot, cluster, name, arenaBytes, extents, limits.nodesMax(), arenaRetained);
    }
}
