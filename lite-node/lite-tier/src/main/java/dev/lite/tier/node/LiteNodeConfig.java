package dev.lite.tier.node;

import dev.lite.tier.memory.ArenaConfig;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What a node is made from.
 *
 * @param cluster the cluster's name: 1 to 63 of {@code a–z A–Z 0–9 . _ -}
 * @param name the node's stable name, likewise
 * @param arenaRoot the directory of all arenas, on a memory file system
 * @param arenaBytes the size of the memory this node contributes
 * @param arenaRetained whether the arena stays when the node stops in good order
 * @param runDirectory where sockets are put; is made when it is not there
 * @param limits what applications may take
 * @param deadline how long an operation may wait when its call says nothing
 * @param pollSpins how often who waits for the fabric looks in vain before it sleeps, at most
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

    /** Without options of fabrics. */
    public LiteNodeConfig(
            String cluster,
            String name,
            Path arenaRoot,
            long arenaBytes,
            boolean arenaRetained,
            Path runDirectory,
            Limits limits,
            Duration deadline,
            int pollSpins) {
        this(cluster, name, arenaRoot, arenaBytes, arenaRetained, runDirectory, limits, deadline, pollSpins, Map.of());
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
     * How often who waits looks before it sleeps when nothing is configured: 50 to 100 µs, about as long as it takes to wake an
     * idle processor. Looking in vain makes it shorter by itself, so a node with little to do spends little on it.
     */
    public static int pollSpinsDefault() {
        int processors = Runtime.getRuntime().availableProcessors();
        return processors == 1 ? 0 : 2000;
    }

    /** A node with default limits, a deadline of ten seconds and a retained arena in {@code /dev/shm/lite}. */
    public static LiteNodeConfig of(String cluster, String name, long arenaBytes, Path runDirectory) {
        return new LiteNodeConfig(
                cluster,
                name,
                Path.of("/dev/shm/lite"),
                arenaBytes,
                true,
                runDirectory,
                Limits.DEFAULT,
                Duration.ofSeconds(10),
                pollSpinsDefault());
    }

    /** The same with another root of the arenas, and whether they are retained. */
    public LiteNodeConfig withArena(Path root, boolean retained) {
        return new LiteNodeConfig(
                cluster, name, root, arenaBytes, retained, runDirectory, limits, deadline, pollSpins, fabricOptions);
    }

    /** The same with another deadline. */
    public LiteNodeConfig withDeadline(Duration newDeadline) {
        return new LiteNodeConfig(
                cluster,
                name,
                arenaRoot,
                arenaBytes,
                arenaRetained,
                runDirectory,
                limits,
                newDeadline,
                pollSpins,
                fabricOptions);
    }

    /** The same with other limits. */
    public LiteNodeConfig withLimits(Limits newLimits) {
        return new LiteNodeConfig(
                cluster,
                name,
                arenaRoot,
                arenaBytes,
                arenaRetained,
                runDirectory,
                newLimits,
                deadline,
                pollSpins,
                fabricOptions);
    }

    /** The same with settings for one driver. */
    public LiteNodeConfig withFabricOptions(String driver, Map<String, String> options) {
        Map<String, Map<String, String>> all = new HashMap<>(fabricOptions);
        all.put(driver, options);
        return new LiteNodeConfig(
                cluster, name, arenaRoot, arenaBytes, arenaRetained, runDirectory, limits, deadline, pollSpins, all);
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
