package dev.lite.client;

import dev.lite.session.protocol.SessionProtocol;
import org.jspecify.annotations.Nullable;

/**
 * How a client works; what it attaches to is in {@link dev.lite.api.Lite.AttachOptions}.
 *
 * @param spins how often a thread looks for its completion before it sleeps; 0 sleeps at once. One look takes 40 to 130 ns
 * @param pipelineDepth how many windows a transfer that needs several keeps under way, 1 to {@value #PIPELINE_DEPTH_MAX}
 * @param nodeUid the user id whose node is trusted beside root's and this process' own, or null
 */
public record ClientConfig(
        int spins, int pipelineDepth, @Nullable Integer nodeUid) {
    /** Upper limit of the pipeline. */
    public static final int PIPELINE_DEPTH_MAX = 8;

    /** System property for {@link #spins}. */
    public static final String SPINS_PROPERTY = "lite.client.spins";

    /** System property for {@link #pipelineDepth}. */
    public static final String PIPELINE_DEPTH_PROPERTY = "lite.client.pipeline-depth";

    /** System property for {@link #nodeUid}. */
    public static final String NODE_UID_PROPERTY = "lite.client.node-uid";

    private static final int SPINS_MAX = 10_000_000;
    private static final int PIPELINE_DEPTH_DEFAULT = 4;

    /** Checks the values. */
    public ClientConfig {
        if (spins < 0 || spins > SPINS_MAX) {
            throw new IllegalArgumentException("spins: %d; must be 0 to %d".formatted(spins, SPINS_MAX));
        }
        if (pipelineDepth < 1 || pipelineDepth > PIPELINE_DEPTH_MAX) {
            throw new IllegalArgumentException(
                    "pipeline depth: %d; must be 1 to %d".formatted(pipelineDepth, PIPELINE_DEPTH_MAX));
        }
    }

    /** What fits this machine, or what the system properties say. */
    public static ClientConfig fromSystemProperties() {
        return new ClientConfig(
                Integer.getInteger(
                        SPINS_PROPERTY,
                        SessionProtocol.spinsDefault(Runtime.getRuntime().availableProcessors())),
                Integer.getInteger(PIPELINE_DEPTH_PROPERTY, PIPELINE_DEPTH_DEFAULT),
                Integer.getInteger(NODE_UID_PROPERTY));
    }

    /** With other spins. */
    public ClientConfig withSpins(int newSpins) {
        return new ClientConfig(newSpins, pipelineDepth, nodeUid);
    }
}
