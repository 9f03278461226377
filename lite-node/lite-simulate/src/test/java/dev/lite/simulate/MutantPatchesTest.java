package dev.lite.simulate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.SoftAssertions;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The faults that {@link MutantsMain} puts back. */
class MutantPatchesTest {
    private static final Path MODULE =
            Path.of(System.getProperty("basedir", "")).toAbsolutePath();

    @BeforeAll
    static void requireGit() throws InterruptedException {
        boolean found;
        try {
            found = new ProcessBuilder("git", "--version").start().waitFor() == 0;
        } catch (IOException e) {
            found = false;
        }
        if (!found) {
            System.out.println("skipped: there is no git here that could apply the patches of the mutants");
        }
        assumeTrue(found, "there is no git here that could apply the patches of the mutants");
    }

    @Test
    void everyMutantFitsTheSources(@TempDir Path works) throws IOException {
        List<Path> patches = MutantsMain.patches(MODULE.resolve("src/mutants"), "");
        assertThat(patches).isNotEmpty();
        Path sources = MODULE.resolve("../..").normalize();
        SoftAssertions all = new SoftAssertions();
        for (Path patch : patches) {
            Path work = Files.createDirectory(works.resolve(patch.getFileName()));
            all.assertThatCode(() -> MutantsMain.apply(patch, sources, work))
                    .as("%s", patch.getFileName())
                    .doesNotThrowAnyException();
        }
        all.assertAll();
    }
}
