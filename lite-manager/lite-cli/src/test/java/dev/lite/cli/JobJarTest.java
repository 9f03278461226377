package dev.lite.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.mr.job.Emitter;
import dev.lite.mr.job.InputRecord;
import dev.lite.mr.job.Job;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Objects;
import java.util.jar.JarOutputStream;
import java.util.zip.ZipEntry;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class JobJarTest {
    @TempDir
    Path directory;

    /** A job. */
    public static final class Lines extends Job {
        @Override
        public void map(InputRecord record, Emitter out) {}
    }

    /** Another job. */
    public static final class Words extends Job {
        @Override
        public void map(InputRecord record, Emitter out) {}
    }

    /** No job: nobody can make one. */
    public abstract static class Half extends Job {}

    private Path jar(Class<?>... classes) throws IOException {
        Path file = directory.resolve("jobs.jar");
        try (JarOutputStream jar = new JarOutputStream(Files.newOutputStream(file))) {
            for (Class<?> each : classes) {
                String name = each.getName().replace('.', '/') + ".class";
                jar.putNextEntry(new ZipEntry(name));
                try (InputStream content = each.getClassLoader().getResourceAsStream(name)) {
                    Objects.requireNonNull(content).transferTo(jar);
                }
            }
        }
        return file;
    }

    @Test
    void theOnlyJobOfAJarIsFound() throws IOException {
        try (JobJar jar = JobJar.open(jar(Half.class, Lines.class, JobJarTest.class))) {
            assertThat(jar.job(null)).isEqualTo(Lines.class);
        }
    }

    @Test
    void oneOfSeveralJobsIsChosenByItsName() throws IOException {
        try (JobJar jar = JobJar.open(jar(Words.class, Lines.class))) {
            assertThatThrownBy(() -> jar.job(null))
                    .isInstanceOf(CommandFailedException.class)
                    .hasMessageContaining(
                            "choose one with --job: [%s, %s]".formatted(Lines.class.getName(), Words.class.getName()));
            assertThat(jar.job(Words.class.getName())).isEqualTo(Words.class);
        }
    }

    @Test
    void aJarWithoutTheJobIsRefusedWithTheReason() throws IOException {
        try (JobJar jar = JobJar.open(jar(Half.class))) {
            assertThatThrownBy(() -> jar.job(null)).hasMessageContaining("jobs.jar has no job");
            assertThatThrownBy(() -> jar.job("shop.Nothing"))
                    .hasMessageContaining("jobs.jar has no class shop.Nothing");
            assertThatThrownBy(() -> jar.job("java.lang.String"))
                    .hasMessageContaining("java.lang.String in")
                    .hasMessageContaining("is no job");
        }
    }

    @Test
    void aFileThatIsNoJarIsRefused() throws IOException {
        Path file = Files.writeString(directory.resolve("jobs.jar"), "text");
        try (JobJar jar = JobJar.open(file)) {
            assertThatThrownBy(() -> jar.job(null))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("cannot read " + file);
        }
    }

    @Test
    void eachRunHasAGroupOfItsOwnAlsoIfItsProcessHasTheIdOfAnother() {
        assertThat(new MrCommand.Run().group()).isNotEqualTo(new MrCommand.Run().group());
    }
}
