package dev.lite.mr;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.lite.api.ClusterUnavailableException;
import dev.lite.api.HeldLock;
import dev.lite.api.Lite;
import dev.lite.api.LiteException;
import dev.lite.api.LiteTimeoutException;
import dev.lite.api.LmrHandle;
import dev.lite.api.LmrUnavailableException;
import dev.lite.api.LtMemory;
import dev.lite.mr.data.Run;
import dev.lite.mr.jobs.WordCount;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.charset.Charset;
import java.nio.charset.CharsetEncoder;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import jdk.jfr.Recording;
import jdk.jfr.consumer.RecordingFile;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The end of a job, with memory of which only the failures are real: so a result may be of any size. */
class ResultWriterTest {
    /** Smaller than 256 MiB. It has pairs without bytes. */
    private static final Run SMALL = run(1);

    private static final Run LARGE = run(65);

    @TempDir
    Path directory;

    private static Run run(int pieces) {
        return new Run(Collections.nCopies(pieces, new Run.Piece(1, Run.PIECE_BYTES_MAX)));
    }

    /** The lock of a master. */
    private record Lease(long fencingToken, boolean isHeld) implements HeldLock {
        @Override
        public String name() {
            return "lite-mr/test";
        }

        @Override
        public void close() {}
    }

    private static void write(Run run, Output output, Map<String, LiteException> failures) {
        JobSpec spec = JobSpec.of(WordCount.class, Input.lmr("input")).withOutput(output);
        new ResultWriter(session(failures), spec, new WordCount(), new Lease(1, true)).write(run);
    }

    /** A session whose methods do nothing; those of its memory, and of handles, fail as told. */
    private static Lite session(Map<String, LiteException> failures) {
        LmrHandle handle = failing(LmrHandle.class, failures, null);
        LtMemory memory = failing(LtMemory.class, failures, handle);
        return failing(Lite.class, Map.of(), memory);
    }

    private static <T> T failing(Class<T> type, Map<String, LiteException> failures, @Nullable Object result) {
        return type.cast(
                Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    LiteException failure = failures.get(method.getName());
                    if (failure != null) {
                        throw failure;
                    }
                    return method.getReturnType() == void.class ? null : result;
                }));
    }

    @Test
    void aLargeLmrThatCannotBeFreedDoesNotHideWhyItCouldNotBeWritten() {
        LiteException first = new LmrUnavailableException("a worker is lost");
        LiteException second = new ClusterUnavailableException("the directory is away");
        assertThatThrownBy(() -> write(LARGE, Output.lmr("large"), Map.of("memcpy", first, "free", second)))
                .isSameAs(first)
                .hasSuppressedException(second);
    }

    @Test
    void aPartOfAFileThatCannotBeDeletedDoesNotHideWhyTheFileCouldNotBeWritten() {
        LiteException first = new LmrUnavailableException("a worker is lost");
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    replaceByFullDirectories(directory);
                    throw first;
                });
        JobSpec spec = JobSpec.of(WordCount.class, Input.lmr("input"));
        ResultWriter writer = new ResultWriter(
                failing(Lite.class, Map.of(), memory),
                spec.withOutput(Output.file(directory.resolve("out"))),
                new WordCount(),
                new Lease(1, true));
        assertThatThrownBy(() -> writer.write(SMALL)).isSameAs(first);
        assertThat(first.getSuppressed()).singleElement().isInstanceOf(DirectoryNotEmptyException.class);
    }

    private static void replaceByFullDirectories(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            for (Path file : files.toList()) {
                Files.delete(file);
                Files.createDirectories(file.resolve("inside"));
            }
        }
    }

    /** Else the result would be taken for lost, and written again under a name that exists. */
    @Test
    void anLmrThatCannotBeUnmappedIsCompleteAllTheSame() {
        for (Run run : List.of(SMALL, LARGE)) {
            assertThatCode(() ->
                            write(run, Output.lmr("complete"), Map.of("unmap", new LiteTimeoutException("no answer"))))
                    .doesNotThrowAnyException();
        }
    }

    /** A crash of the machine must not leave an empty file under the name. */
    @Test
    void aFileIsOnTheDiskBeforeItHasItsName() throws IOException {
        Path out = directory.resolve("out");
        Path events = directory.resolve("events.jfr");
        try (Recording recording = new Recording()) {
            recording.enable("jdk.FileForce").withThreshold(Duration.ZERO);
            recording.start();
            write(SMALL, Output.file(out), Map.of());
            recording.stop();
            recording.dump(events);
        }
        List<String> forced = RecordingFile.readAllEvents(events).stream()
                .filter(event -> event.getEventType().getName().equals("jdk.FileForce"))
                .map(event -> event.getString("path"))
                .filter(path -> path != null && path.startsWith(directory.toString()))
                .toList();
        assertThat(forced).hasSize(2);
        assertThat(forced.getFirst()).startsWith(out + ".").endsWith(".part");
        assertThat(forced.getLast()).isEqualTo(directory.toString());
    }

    @Test
    void aFileMayHaveTheLongestNameOfItsFileSystem() {
        CharsetEncoder ofNames =
                Charset.forName(System.getProperty("sun.jnu.encoding")).newEncoder();
        for (String name : List.of("x".repeat(255), "x" + "ü".repeat(127), "\uD83D\uDE00".repeat(63))) {
            if (!ofNames.canEncode(name)) {
                continue; // as in the locale C
            }
            write(SMALL, Output.file(directory.resolve(name)), Map.of());
            assertThat(directory.toFile().list()).containsExactly(name);
            assertThat(directory.resolve(name).toFile().delete()).isTrue();
        }
    }

    private void write(Run run, Lease lease, Runnable whenReading) {
        LtMemory memory = (LtMemory) Proxy.newProxyInstance(
                LtMemory.class.getClassLoader(), new Class<?>[] {LtMemory.class}, (self, method, arguments) -> {
                    whenReading.run();
                    return failing(LmrHandle.class, Map.of(), null);
                });
        JobSpec spec =
                JobSpec.of(WordCount.class, Input.lmr("input")).withOutput(Output.file(directory.resolve("out")));
        new ResultWriter(failing(Lite.class, Map.of(), memory), spec, new WordCount(), lease).write(run);
    }

    /** Its part is complete when it continues, or nearly. */
    @Test
    void aMasterThatWasPausedDoesNotReplaceTheOutputOfTheNextMaster() {
        assertThatThrownBy(() ->
                        write(SMALL, new Lease(1, true), () -> write(new Run(List.of()), new Lease(2, true), () -> {})))
                .isInstanceOf(MrException.class)
                .hasMessageContaining("cannot write file " + directory.resolve("out"));
        assertThat(directory.resolve("out")).isEmptyFile();
        assertThat(directory.toFile().list()).containsExactly("out");
    }

    /** The next master may have deleted former parts before this one exists. */
    @Test
    void aMasterThatHasLostItsGroupWritesNoFile() {
        assertThatThrownBy(() -> write(SMALL, new Lease(1, false), () -> {}))
                .isInstanceOf(MrException.class)
                .hasMessage(
                        "cannot write file %s: the master has lost its group, for example because it was paused, and another one may write the file"
                                .formatted(directory.resolve("out")));
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void aMasterDeletesWhatFormerMastersOfItsGroupLeftAndNothingElse() throws IOException {
        String lock = "%08x".formatted(new Lease(1, true).name().hashCode());
        List<String> former = List.of("out.%s-0000000000000002.part", "out.%s-0000000000000007.part");
        List<String> others = List.of(
                "out.part",
                "out.7.part",
                "out.1234abcd-0000000000000001.part",
                "outer.%s-0000000000000002.part",
                "out.%s-000000000000000a.part",
                "out.%s-0000000000000002.part.txt");
        for (String name : Stream.concat(former.stream(), others.stream()).toList()) {
            Files.writeString(directory.resolve(name.formatted(lock)), "mine");
        }
        write(new Run(List.of()), new Lease(7, true), () -> {});
        assertThat(directory.toFile().list())
                .containsExactlyInAnyOrderElementsOf(
                        Stream.concat(Stream.of("out"), others.stream().map(name -> name.formatted(lock)))
                                .toList());
    }
}
