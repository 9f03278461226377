package dev.lite.fabric.rdma;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import dev.lite.fabric.rdma.verbs.NativeLibrary;
import dev.lite.testing.Waits;
import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.regex.Pattern;

/** The library that the build compiled, and programs that a test compiles from the module's C code. */
final class NativeBuild {
    static final List<String> SANITIZERS = List.of(
            "-g", "-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-fno-omit-frame-pointer");

    private static final Path JNI = Path.of(System.getProperty("java.home"), "include");

    private NativeBuild() {}

    /** Skips the test if the build could not compile the library. */
    static void requireLibrary() {
        var resource = NativeLibrary.resource(System.getProperty("os.arch"));
        assumeTrue(
                NativeBuild.class.getResource(resource) != null,
                "needs libdisni: it was not built, see the build's output");
    }

    static Path library() {
        var resource = NativeBuild.class.getResource(NativeLibrary.resource(System.getProperty("os.arch")));
        try {
            return Path.of(resource == null ? URI.create("file:///none") : resource.toURI());
        } catch (URISyntaxException e) {
            throw new AssertionError(e);
        }
    }

    /** Skips the test if this machine cannot compile C. */
    static void requireCompiler() {
        boolean compiler = Pattern.compile(":")
                .splitAsStream(System.getenv("PATH"))
                .anyMatch(path -> Files.isExecutable(Path.of(path, "gcc")));
        assumeTrue(compiler, "needs a C compiler: apt-get install gcc libc6-dev");
        for (var header : List.of("infiniband/verbs.h", "rdma/rdma_cma.h")) {
            assumeTrue(
                    Files.exists(Path.of("/usr/include", header)),
                    "needs " + header + ": apt-get install libibverbs-dev librdmacm-dev");
        }
        assumeTrue(Files.exists(JNI.resolve("jni.h")), "needs jni.h in " + JNI);
    }

    /** Skips the test if the compiler's sanitizer libraries are missing. */
    static void requireSanitizers(Path directory) throws IOException {
        var empty = Files.writeString(directory.resolve("empty.c"), "int main(void) { return 0; }\n");
        var command = new ArrayList<>(List.of("gcc"));
        command.addAll(SANITIZERS);
        command.addAll(
                List.of(empty.toString(), "-o", directory.resolve("empty").toString()));
        assumeTrue(
                execute(command, Map.of()).exit() == 0,
                "needs the sanitizers of gcc: apt-get install libasan8 libubsan1");
    }

    /** Compiles files, named from the module's directory, into a program. */
    static Path compile(Path directory, String name, List<String> sources, List<String> options) throws IOException {
        var program = directory.resolve(name);
        var command = new ArrayList<>(List.of("gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror"));
        command.addAll(List.of("-I" + JNI, "-I" + JNI.resolve("linux"), "-Isrc/main/c"));
        command.addAll(options);
        command.addAll(sources);
        command.addAll(List.of("-libverbs", "-lrdmacm", "-o", program.toString()));
        var result = execute(command, Map.of());
        assertThat(result.exit()).as(result.output()).isZero();
        return program;
    }

    /** Runs a command in the module's directory, asserts exit code 0, and returns its output. */
    static String run(List<String> command, Map<String, String> environment) throws IOException {
        var result = execute(command, environment);
        assertThat(result.exit()).as(result.output()).isZero();
        return result.output();
    }

    private static Result execute(List<String> command, Map<String, String> environment) throws IOException {
        var output = Files.createTempFile("lite-rdma-test", ".txt");
        try {
            var builder = new ProcessBuilder(command).redirectErrorStream(true).redirectOutput(output.toFile());
            builder.environment().putAll(environment);
            var process = builder.start();
            try {
                boolean ended = process.waitFor(Waits.seconds(60).toMillis(), TimeUnit.MILLISECONDS);
                assertThat(ended).as("%s ends in time", command).isTrue();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            } finally {
                process.destroyForcibly();
            }
            return new Result(process.exitValue(), Files.readString(output));
        } finally {
            Files.delete(output);
        }
    }

    private record Result(int exit, String output) {}
}
