package dev.lite.rdma.vm;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;
import org.jspecify.annotations.Nullable;

/**
 * The class path of the programs in the machines, and its ahead-of-time class cache (JEP 483, 514, 515). Without the
 * cache, an emulated processor starts a JVM twice as slowly. This machine's processor makes both once. Any thread.
 *
 * @param path jars only, because a cache has no classes of directories; in the order of this JVM's class path
 * @param cache the class cache
 */
record GuestClasses(String path, Path cache) {
    private static final Path DIRECTORY = VmFiles.root().resolve("classes");
    private static final long TRAINING_S_MAX = 180;

    private static @Nullable GuestClasses made;

    static synchronized GuestClasses get() {
        if (made == null) {
            LocalMachine.empty(DIRECTORY);
            String path = jars();
            made = new GuestClasses(path, train(path));
        }
        return made;
    }

    private static String jars() {
        List<String> jars = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator, -1)) {
            if (!entry.isEmpty()) { // it would be the working directory
                jars.add(Files.isDirectory(Path.of(entry)) ? jar(entry, jars.size()) : entry);
            }
        }
        return String.join(File.pathSeparator, jars);
    }

    private static String jar(String directory, int number) {
        String jar = DIRECTORY.resolve(number + ".jar").toString();
        int code = ToolProvider.findFirst("jar")
                .orElseThrow()
                .run(System.out, System.err, "--create", "--file", jar, "-C", directory, ".");
        assertThat(code).as("exit code of jar, for %s", directory).isZero();
        return jar;
    }

    private static Path train(String path) {
        Path cache = DIRECTORY.resolve("classes.aot");
        Path log = DIRECTORY.resolve("training.log");
        List<String> command = Jvm.start();
        command.addAll(GuestTraining.JVM);
        command.addAll(List.of(
                "-XX:AOTCacheOutput=" + cache, "-cp", path, GuestTraining.class.getName(), DIRECTORY.toString()));
        try {
            Process process = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectOutput(log.toFile())
                    .start();
            boolean ended = process.waitFor(TRAINING_S_MAX, TimeUnit.SECONDS) && process.exitValue() == 0;
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            process.destroyForcibly();
            assertThat(ended && Files.exists(cache))
                    .as("the class cache is written within %d s; see %s", TRAINING_S_MAX, log)
                    .isTrue();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException("interrupted", e);
        }
        return cache;
    }
}
