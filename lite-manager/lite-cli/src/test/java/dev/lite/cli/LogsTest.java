package dev.lite.cli;

import static org.assertj.core.api.Assertions.assertThat;

import dev.lite.local.DetachedCluster;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.RandomAccessFile;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The end of a process's log. */
class LogsTest {
    @TempDir
    Path directory;

    private final StringWriter text = new StringWriter();
    private final List<String> notes = new CopyOnWriteArrayList<>();
    private Path log;
    private @Nullable Thread follower;

    @BeforeEach
    void makeCluster() throws IOException {
        Files.createDirectories(directory.resolve("commands"));
        Files.createDirectories(directory.resolve("logs"));
        Files.createFile(directory.resolve("commands/node-1"));
        log = new DetachedCluster("c", directory).log("node-1");
    }

    private static String lines(int from, int to) {
        return IntStream.range(from, to)
                .mapToObj(line -> "line %d is %s%n".formatted(line, "ä".repeat(line % 200)))
                .collect(Collectors.joining());
    }

    @AfterEach
    void endFollower() {
        if (follower != null) {
            follower.interrupt();
            Waits.join(follower);
        }
    }

    private LogTail tail(int lines) {
        return new LogTail(log, lines, false, new PrintWriter(text, true), notes::add);
    }

    /** Follows the log on another thread, from its last line on. */
    private void follow(LogTail.Opener opener) {
        LogTail tail = new LogTail(log, 1, true, new PrintWriter(text, true), notes::add, opener);
        follower = Thread.ofPlatform().start(() -> {
            try {
                tail.print();
            } catch (IOException e) {
                text.write(e.toString());
            }
        });
    }

    private RandomAccessFile open() throws IOException {
        return new RandomAccessFile(log.toFile(), "r");
    }

    @Test
    void theLastLinesArePrinted() throws IOException {
        Files.writeString(log, lines(0, 3000));
        tail(3).print();
        assertThat(text.toString()).isEqualTo(lines(2997, 3000));
        text.getBuffer().setLength(0);
        tail(2000).print();
        assertThat(text.toString()).isEqualTo(lines(1000, 3000));
        text.getBuffer().setLength(0);
        tail(5000).print();
        assertThat(text.toString()).isEqualTo(lines(0, 3000));
        text.getBuffer().setLength(0);
        Files.writeString(log, "without an end", StandardOpenOption.APPEND);
        tail(2).print();
        assertThat(text.toString()).isEqualTo(lines(2999, 3000) + "without an end");
    }

    /** A process begins a new file every day. */
    @Test
    void theFileWithEarlierLinesIsNamedIfThereAreFewerThanAskedFor() throws IOException {
        Files.writeString(log, lines(0, 3));
        tail(9).print();
        assertThat(notes).as("there is no other file").isEmpty();
        for (int file = 8; file <= 10; file++) {
            Path earlier = Files.createFile(log.resolveSibling("node-1.log.2026-11-29.%d.gz".formatted(file)));
            Files.setLastModifiedTime(earlier, FileTime.fromMillis(1000L * file));
        }
        Files.createFile(log.resolveSibling("node-10.log.2026-11-30.0.gz"));
        tail(2).print();
        assertThat(notes).as("there are enough lines").isEmpty();
        tail(9).print();
        assertThat(notes).containsExactly("Earlier lines are in " + log + ".2026-11-29.10.gz");
    }

    @Test
    void newLinesAreFollowedAlsoInALogThatIsBegunAnew() throws IOException {
        Files.writeString(log, lines(0, 5));
        follow(file -> open());
        Waits.until("the end is printed", () -> text.toString().equals(lines(4, 5)));
        Files.writeString(log, lines(5, 8) + "half", StandardOpenOption.APPEND);
        Waits.until("the new lines are printed", () -> text.toString().equals(lines(4, 8)));
        Files.writeString(log, " a line\n", StandardOpenOption.APPEND);
        Waits.until("the completed line is printed", () -> text.toString().endsWith("half a line\n"));
        Files.writeString(log, "anew\n");
        Waits.until("the new log is printed", () -> text.toString().endsWith("anew\n"));
    }

    @Test
    void theEndOfALogAndTheBeginningOfTheNextOneArePrintedAlsoWhenThatIsLonger() throws IOException {
        Files.writeString(log, "first\n");
        follow(file -> open());
        Waits.until("the end is printed", () -> text.toString().equals("first\n"));
        Path next = Files.writeString(log.resolveSibling("next"), lines(0, 9));
        Files.writeString(log, "last\n", StandardOpenOption.APPEND);
        Files.move(log, log.resolveSibling("node-1.log.1"));
        Files.move(next, log);
        Waits.until("the new log is printed", () -> text.toString().endsWith(lines(8, 9)));
        assertThat(text.toString()).isEqualTo("first\nlast\n" + lines(0, 9));
    }

    @Test
    void aLogThatIsReplacedJustBeforeItIsOpenedIsPrintedOnce() throws IOException {
        Files.writeString(log, "first\n");
        AtomicInteger opened = new AtomicInteger();
        follow(file -> {
            if (opened.getAndIncrement() == 0) {
                Files.move(log, log.resolveSibling("node-1.log.1"));
                Files.writeString(log, lines(0, 3));
            }
            return open();
        });
        Waits.until("the end is printed", () -> text.toString().equals(lines(2, 3)));
        Files.writeString(log, lines(3, 4), StandardOpenOption.APPEND);
        Waits.until("the new line is printed", () -> text.toString().endsWith(lines(3, 4)));
        assertThat(text.toString()).isEqualTo(lines(2, 4));
    }

    @Test
    void aLogWhoseNextFileIsNotThereYetIsFollowedWhenItIs() throws IOException {
        Files.writeString(log, "first\n");
        AtomicInteger opened = new AtomicInteger();
        follow(file -> {
            if (opened.getAndIncrement() == 0) {
                Files.move(log, log.resolveSibling("node-1.log.1"));
            }
            return open();
        });
        Waits.until("the log is gone", () -> opened.get() > 0 && Files.notExists(log));
        Path next = Files.writeString(log.resolveSibling("next"), lines(0, 3));
        Files.move(next, log);
        Waits.until("something is printed", () -> !text.toString().isEmpty());
        Waits.until("the new log is printed", () -> text.toString().endsWith(lines(2, 3)));
        assertThat(lines(0, 3)).as("of a log that comes just in time, the end").endsWith(text.toString());
    }

    @Test
    void aLogThatDoesNotExistIsReported() {
        assertThat(Files.exists(log)).isFalse();
        org.assertj.core.api.Assertions.assertThatThrownBy(() -> tail(1).print())
                .isInstanceOf(CommandFailedException.class)
                .hasMessageContaining("node-1.log does not exist");
    }
}
