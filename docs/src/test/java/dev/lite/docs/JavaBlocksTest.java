package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.embedded.EmbeddedCluster;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/** Every Java block compiles, and runs against a cluster of three embedded nodes. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class JavaBlocksTest {
    private static final int NODES = 3;
    private static final long ARENA_BYTES = 16 << 20;
    private static final int LINES_OF_THE_FIRST_READ_MAX = 6;

    private @Nullable CompiledBlocks compiled;

    @BeforeAll
    void compile(@TempDir Path directory) throws IOException {
        compiled = CompiledBlocks.compile(Repository.blocks("java"), directory);
    }

    @AfterAll
    void close() throws IOException {
        compiled().close();
    }

    private CompiledBlocks compiled() {
        if (compiled == null) {
            throw new AssertionError("not compiled");
        }
        return compiled;
    }

    @TestFactory
    Stream<DynamicTest> everyBlockCompilesAndRuns() {
        return Repository.blocks("java").stream()
                .map(block -> DynamicTest.dynamicTest(block.where() + " " + block.context(), () -> run(block)));
    }

    private void run(CodeBlock block) throws Throwable {
        try (EmbeddedCluster cluster = EmbeddedCluster.start(NODES, ARENA_BYTES)) {
            compiled().run(block, cluster);
        }
    }

    @Test
    void theFirstReadTakesAtMostSixLinesOfCode() {
        assertThat(compiled().blockOf("FirstRead").text().lines())
                .hasSizeLessThanOrEqualTo(LINES_OF_THE_FIRST_READ_MAX);
    }

    @Test
    void aBlockThatDoesNotCompileIsReportedWithItsPlace(@TempDir Path directory) throws IOException {
        CodeBlock block = new CodeBlock(Path.of("page.md"), 7, "java", "handle.reed(0);\n", null, null);
        try (CompiledBlocks one = CompiledBlocks.compile(List.of(block), directory)) {
            assertThatThrownBy(() -> one.context(block))
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("page.md:7")
                    .hasMessageContaining("reed");
        }
    }

    @Test
    void aBlockThatFailsWhenItRunsIsReported(@TempDir Path directory) throws IOException {
        CodeBlock block = new CodeBlock(Path.of("page.md"), 7, "java", "handle.read(-1, new byte[1]);\n", null, null);
        try (CompiledBlocks one = CompiledBlocks.compile(List.of(block), directory);
                EmbeddedCluster cluster = EmbeddedCluster.start(NODES, ARENA_BYTES)) {
            assertThatThrownBy(() -> one.run(block, cluster)).isInstanceOf(RuntimeException.class);
        }
    }
}
