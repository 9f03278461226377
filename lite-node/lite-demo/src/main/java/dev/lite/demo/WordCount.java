package dev.lite.demo;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;

/**
 * This machine's {@code wc -w} in the C locale. Implementations differ in what a word is: GNU wc up to at least 9.1 counts
 * only words with a printable byte, POSIX counts every run of bytes other than white space. So this class tests the local
 * one.
 */
final class WordCount {

    /** Slower than any disk, for the timeout. */
    private static final long BYTES_PER_SECOND_MIN = 5_000_000;

    private WordCount() {}

    /** The rule that this machine's {@code wc} follows, as the applications name it. */
    static String rule() {
        OptionalLong ofOneControlCharacter = run(List.of("sh", "-c", "printf '\\001' | wc -w"), 10);
        return ofOneControlCharacter.orElse(1) == 0 ? "printable" : "any";
    }

    /** The words of a file; empty when there is no {@code wc}. */
    static OptionalLong of(Path file, long bytes) {
        return run(List.of("wc", "-w", file.toString()), 60 + bytes / BYTES_PER_SECOND_MIN);
    }

    private static OptionalLong run(List<String> command, long deadlineSeconds) {
        ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
        builder.environment().put("LC_ALL", "C");
        try {
            Process process = builder.start();
            if (!process.waitFor(deadlineSeconds, TimeUnit.SECONDS)) {
                process.destroyForcibly();
                return OptionalLong.empty();
            }
            String output = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8).strip();
            return process.exitValue() == 0
                    ? OptionalLong.of(Long.parseLong(output.split("\\s", 2)[0]))
                    : OptionalLong.empty();
        } catch (IOException | NumberFormatException e) {
            return OptionalLong.empty();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return OptionalLong.empty();
        }
    }
}
