package dev.lite.fabric.conformance;

import dev.lite.fabric.FabricMemory;
import dev.lite.fabric.FabricProvider;
import java.nio.file.Path;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.extension.TestExecutionExceptionHandler;
import org.junit.jupiter.api.io.TempDir;
import org.opentest4j.TestAbortedException;

/**
 * The contract of the fabric SPI, with one case per guarantee. A driver's test class supplies only a factory:
 *
 * <pre>{@code
 * class TcpFabricConformanceTest extends FabricConformanceTest {
 *     protected FabricProvider provider() { return new TcpFabricProvider(); }
 *     protected FabricMemory memory(long bytes) { ... }
 *     protected void release(FabricMemory memory) { ... }
 * }
 * }</pre>
 *
 * <p>All random contents and choices come from a seed, which failures report; {@code -Dlite.test.seed=} sets it. The cases work
 * both for drivers that answer {@code DONE} and for those that answer {@code ACCEPTED}. After each case, the suite closes every
 * fabric. Then it checks that every accepted post ended exactly once, that every endpoint was disconnected exactly once, and that
 * every handler call ran on the polling thread.
 */
@Timeout(value = 300, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
public abstract class FabricConformanceTest
        implements ConnectionCases,
                TransferCases,
                ImmediateCases,
                AtomicCases,
                BoundsCases,
                ClosingCases,
                WaitingCases,
                StandbyCases {

    @TempDir
    private Path runDirectory;

    private @Nullable TestFabrics fabrics;

    private final long seed = Long.getLong("lite.test.seed", System.nanoTime());

    @RegisterExtension
    final TestExecutionExceptionHandler nameTheSeed = this::rethrowWithSeed;

    /** The driver. Called once per case; it opens every fabric of the case. */
    protected abstract FabricProvider provider();

    /** Allocates zeroed native memory of the kind that the driver needs; usable by any thread. */
    protected abstract FabricMemory memory(long bytes);

    /** Releases memory from {@link #memory} after every fabric of the case was closed. */
    protected void release(FabricMemory memory) {}

    /** The driver's options. */
    protected Map<String, String> options() {
        return Map.of();
    }

    /** The seed of all random choices of the suite. */
    protected long seed() {
        return seed;
    }

    @BeforeEach
    final void openFabrics() {
        fabrics = new TestFabrics(provider(), options(), this::memory, this::release, runDirectory, seed());
    }

    @AfterEach
    final void closeFabrics() {
        if (fabrics != null) {
            fabrics.close();
        }
    }

    @Override
    public final TestFabrics fabrics() {
        if (fabrics == null) {
            throw new IllegalStateException("no case is running");
        }
        return fabrics;
    }

    private void rethrowWithSeed(ExtensionContext context, Throwable thrown) {
        if (thrown instanceof TestAbortedException aborted) {
            throw aborted;
        }
        throw new AssertionError("%s [-Dlite.test.seed=%d]".formatted(thrown.getMessage(), seed()), thrown);
    }
}
