package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.ibm.disni.verbs.IbvWC;
import com.ibm.disni.verbs.impl.NatIbvRecvWR;
import com.ibm.disni.verbs.impl.NatIbvSendWR;
import com.ibm.disni.verbs.impl.NatIbvSge;
import com.ibm.disni.verbs.impl.NativeDispatcher;
import dev.lite.fabric.rdma.verbs.NativeLibrary;
import java.io.IOException;
import java.lang.reflect.Modifier;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.TreeSet;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class NativeLibraryTest {
    @TempDir
    Path directory;

    /** An extra symbol would be visible to the whole process; a missing one would only be noticed when it is called. */
    @Test
    void exportsExactlyTheNativeMethodsOfDisniAndTheOnLoadFunction() {
        NativeBuild.requireLibrary();
        var expected = new TreeSet<String>();
        for (var method : NativeDispatcher.class.getDeclaredMethods()) {
            if (Modifier.isNative(method.getModifiers())) {
                expected.add("Java_com_ibm_disni_verbs_impl_NativeDispatcher_"
                        + method.getName().replace("_", "_1"));
            }
        }
        assertThat(expected).hasSize(48);
        expected.add("JNI_OnLoad_disni");
        assertThat(ElfFile.read(NativeBuild.library()).exportedSymbols()).isEqualTo(expected);
    }

    @Test
    void dependsOnlyOnTheCLibraryAndRdmaCore() {
        NativeBuild.requireLibrary();
        assertThat(ElfFile.read(NativeBuild.library()).neededLibraries())
                .containsExactlyInAnyOrder("libibverbs.so.1", "librdmacm.so.1", "libc.so.6");
    }

    @Test
    void loadsWithoutAJvmOptionAndReportsTheSizesThatDisniUses() {
        NativeBuild.requireLibrary();
        var natives = NativeLibrary.dispatcher();
        assertThat(NativeLibrary.problem()).isEmpty();
        assertThat(NativeLibrary.dispatcher()).isSameAs(natives);
        assertThat(natives._getVersion()).isEqualTo(32);
        assertThat(NatIbvSendWR.CSIZE).isEqualTo(natives._getIbvSendWRSize()).isEqualTo(128);
        assertThat(NatIbvRecvWR.CSIZE).isEqualTo(natives._getIbvRecvWRSize());
        assertThat(NatIbvSge.CSIZE).isEqualTo(natives._getIbvSgeSize());
        assertThat(IbvWC.CSIZE).isEqualTo(natives._getIbvWCSize());
        assertThat(NatIbvSendWR.REMOTEADDR_OFFSET).isEqualTo(natives._getRemoteAddressOffset());
        assertThat(NatIbvSendWR.RKEY_OFFSET).isEqualTo(natives._getRKeyOffset());
    }

    @Test
    void leavesNoFileBehind() throws IOException {
        NativeBuild.requireLibrary();
        NativeLibrary.dispatcher();
        try (var mappings = Files.lines(Path.of("/proc/self/maps"))) {
            var files = mappings.filter(line -> line.contains("libdisni.so")).toList();
            assertThat(files).isNotEmpty().allMatch(line -> line.endsWith("libdisni.so (deleted)"));
            assertThat(files)
                    .noneMatch(line -> Files.exists(
                            Path.of(line.substring(line.indexOf('/')).replace(" (deleted)", ""))
                                    .getParent()));
        }
    }

    @Test
    void refusesNullHandles() {
        NativeBuild.requireLibrary();
        var natives = NativeLibrary.dispatcher();
        assertThatThrownBy(() -> natives._postSend(0, 0))
                .isInstanceOf(IOException.class)
                .hasMessage("0x0 is not the address of a queue pair");
        assertThatThrownBy(() -> natives._allocPd(0x12345))
                .isInstanceOf(IOException.class)
                .hasMessage("0x12345 is not the address of a device context");
        assertThat(natives._destroyCQ(0)).isEqualTo(-22);
    }

    @Test
    void reportsAnArchitectureWithoutALibrary() {
        assertThatThrownBy(() -> NativeLibrary.load("sparc"))
                .isInstanceOf(UnsatisfiedLinkError.class)
                .hasMessageContaining("none for processor 'sparc'")
                .hasMessageContaining("libibverbs-dev");
    }

    /** Simulates a host without rdma-core: patches the library to require a version that does not exist. */
    @Test
    void reportsTheMissingPackages() throws IOException {
        NativeBuild.requireLibrary();
        var bytes = Files.readString(NativeBuild.library(), StandardCharsets.ISO_8859_1);
        var file = Files.writeString(
                directory.resolve("libdisni.so"),
                bytes.replace("librdmacm.so.1", "librdmacm.so.9"),
                StandardCharsets.ISO_8859_1);
        assertThatThrownBy(() -> NativeLibrary.open(file))
                .isInstanceOf(UnsatisfiedLinkError.class)
                .hasMessageContaining("apt-get install libibverbs1 librdmacm1 ibverbs-providers")
                .hasMessageEndingWith("librdmacm.so.9: cannot open shared object file: No such file or directory");
    }

    @Test
    void reportsARemedyForANoexecDirectory() {
        assertThat(NativeLibrary.explain("/x/libdisni.so: failed to map segment from shared object"))
                .contains("noexec")
                .contains("java.io.tmpdir");
    }

    @Test
    void reportsTheLoadersMessageForAFileThatIsNoLibrary() throws IOException {
        var file = Files.writeString(directory.resolve("libdisni.so"), "not a library");
        assertThatThrownBy(() -> NativeLibrary.open(file))
                .isInstanceOf(UnsatisfiedLinkError.class)
                .hasMessageContaining("cannot be loaded")
                .hasMessageContaining("file too short");
    }

    @Test
    void aBuildWithoutACompilerReportsWhatToInstallAndRemovesAnOldLibrary() throws IOException {
        var leftOver = directory.resolve("native/linux-%s/libdisni.so".formatted(System.getProperty("os.arch")));
        Files.createDirectories(leftOver.getParent());
        Files.writeString(leftOver, "of an earlier build");
        var output = NativeBuild.run(
                List.of("sh", "src/main/c/build.sh", "/nonexistent", directory.toString()),
                Map.of("CC", "no-such-compiler"));
        assertThat(output.lines()).hasSize(1);
        assertThat(output).contains("built without its native library").contains("apt-get install gcc libc6-dev");
        assertThat(leftOver).doesNotExist();
    }

    @Test
    void aLibraryThatIsNewerThanItsSourcesIsNotCompiledAgain() throws IOException {
        NativeBuild.requireCompiler();
        var command = List.of("sh", "src/main/c/build.sh", System.getProperty("java.home"), directory.toString());
        NativeBuild.run(command, Map.of());
        var library = directory.resolve(
                NativeLibrary.resource(System.getProperty("os.arch")).substring(1));
        var made = Files.getLastModifiedTime(library);
        NativeBuild.run(command, Map.of());
        assertThat(Files.getLastModifiedTime(library)).isEqualTo(made);
        Files.setLastModifiedTime(library, FileTime.fromMillis(0));
        NativeBuild.run(command, Map.of());
        assertThat(Files.getLastModifiedTime(library)).isGreaterThanOrEqualTo(made);
    }

    /** Without this test, a wrong layout would only be noticed by a device that reads garbage. */
    @Test
    void javaAndCAgreeOnEveryOffset() throws IOException {
        NativeBuild.requireCompiler();
        var program = NativeBuild.compile(directory, "layouts", List.of("src/test/c/layouts.c"), List.of());
        Map<String, Integer> fromC = new TreeMap<>();
        NativeBuild.run(List.of(program.toString()), Map.of()).lines().forEach(line -> {
            int equals = line.indexOf('=');
            fromC.put(line.substring(0, equals), Integer.valueOf(line.substring(equals + 1)));
        });
        assertThat(fromC).isEqualTo(Layouts.ALL);
        assertThat(NatIbvSendWR.WRID_OFFSET).isEqualTo(Layouts.ALL.get("ibv_send_wr.wr_id"));
        assertThat(NatIbvSendWR.SENDFLAGS_OFFSET).isEqualTo(Layouts.ALL.get("ibv_send_wr.send_flags"));
    }

    /** Runs the C code with every memory access checked. It needs no device: the JVM and the structures of rdma-core are fakes. */
    @Test
    void theCCodePassesItsOwnTestsUnderTheSanitizers() throws IOException {
        NativeBuild.requireCompiler();
        NativeBuild.requireSanitizers(directory);
        var program = NativeBuild.compile(
                directory, "natives_test", List.of("src/test/c/natives_test.c"), NativeBuild.SANITIZERS);
        var output = NativeBuild.run(List.of(program.toString()), Map.of());
        System.out.println(output);
        assertThat(output.lines().filter(line -> line.startsWith("ok "))).hasSizeGreaterThanOrEqualTo(10);
        assertThat(output).contains("all passed");
    }
}
