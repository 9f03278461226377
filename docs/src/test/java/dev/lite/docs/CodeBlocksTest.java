package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** No block is skipped silently: each kind has a test, or the block gives a reason. */
class CodeBlocksTest {
    /** The kinds, each with its test: Java-, Xml-, Properties- and ShellBlocksTest. */
    private static final Set<String> KINDS = Set.of("java", "xml", "properties", "yaml", "shell", "not run");

    @Test
    void everyBlockIsOfAKindThatIsTestedOrGivesAReason() {
        List<CodeBlock> blocks = Repository.blocks();
        Map<String, Long> counts =
                blocks.stream().collect(Collectors.groupingBy(CodeBlock::kind, TreeMap::new, Collectors.counting()));
        System.out.println("code blocks of the documentation: " + counts);
        blocks.stream()
                .filter(block -> block.notRun() != null)
                .forEach(block -> System.out.println("  not run: " + block.where() + ", " + block.notRun()));
        assertThat(blocks)
                .allSatisfy(block -> assertThat(KINDS)
                        .as("%s: use one of these, or write <!-- not run: REASON --> before the block", block.where())
                        .contains(block.kind()));
        assertThat(counts.keySet()).contains("java", "xml", "properties", "shell");
    }
}
