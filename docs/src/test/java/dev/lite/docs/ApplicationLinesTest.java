package dev.lite.docs;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.withinPercentage;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

class ApplicationLinesTest {
    private static final Path PAGE = Repository.ROOT.resolve("docs/evaluation/applications.md");

    private static final Pattern NUMBER = Pattern.compile("\\d+");
    private static final String HOW =
            "docs/evaluation/applications.md is not what the sources say, give or take a tenth. Write it again: mvn verify -pl docs -am"
                    + " -Dtest=ApplicationLinesTest -Dsurefire.failIfNoSpecifiedTests=false -Dlite.docs.write=true";

    @Test
    void thePageHasWhatTheSourcesHave() throws IOException {
        if (Boolean.getBoolean("lite.docs.write")) {
            Files.writeString(PAGE, ApplicationLines.markdown());
        }
        String page = Repository.read(PAGE);
        String expected = ApplicationLines.markdown();
        assertThat(NUMBER.matcher(page).replaceAll("N"))
                .as(HOW)
                .isEqualTo(NUMBER.matcher(expected).replaceAll("N"));
        List<Integer> numbers = numbers(page);
        List<Integer> actual = numbers(expected);
        for (int index = 0; index < actual.size(); index++) {
            assertThat(numbers.get(index)).as(HOW).isCloseTo(actual.get(index), withinPercentage(10));
        }
    }

    private static List<Integer> numbers(String page) {
        return NUMBER.matcher(page)
                .results()
                .map(result -> Integer.valueOf(result.group()))
                .toList();
    }

    @Test
    void onlyLinesWithCodeCount() {
        assertThat(ApplicationLines.codeLines(List.of(
                        "package a;",
                        "",
                        "import b;",
                        "/** One line. */",
                        "class C { // counts",
                        "    /*",
                        "     * Several lines.",
                        "     */",
                        "    // a comment",
                        "    int d = 1;",
                        "    }",
                        "});")))
                .isEqualTo(2);
    }
}
