package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The threat model names tests that exist. A row without a test says that it is open. */
class SecurityPageTest {
    private static final Pattern TEST = Pattern.compile("`([A-Z][A-Za-z]*Test)`");

    private static String page() throws IOException {
        return Files.readString(Repository.ROOT.resolve("docs/security.md"));
    }

    @Test
    void everyTestOfTheThreatModelExists() throws IOException {
        Set<String> existing = Repository.files(name -> name.endsWith("Test.java")).stream()
                .map(file -> String.valueOf(file.getFileName()).replace(".java", ""))
                .collect(Collectors.toSet());
        Set<String> named = new TreeSet<>();
        for (Matcher test = TEST.matcher(page()); test.find(); ) {
            named.add(test.group(1));
        }
        assertThat(named).hasSizeGreaterThan(15);
        assertThat(existing).containsAll(named);
    }

    @Test
    void everyRowHasATestOrIsOpen() throws IOException {
        assertThat(page().lines()
                        .filter(line -> line.startsWith("| ") && !line.startsWith("|---"))
                        .filter(line -> line.chars().filter(c -> c == '|').count() == 4)
                        .filter(line -> !line.contains("| test |") && !line.contains("| second line |"))
                        .filter(line -> !line.matches("\\| (before|[123]) \\|.*")))
                .isNotEmpty()
                .allMatch(line -> TEST.matcher(line).find() || line.contains("*open*") || line.contains("*Open*"));
    }
}
