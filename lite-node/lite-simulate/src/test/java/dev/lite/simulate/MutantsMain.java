package dev.lite.simulate;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Puts known faults back, one at a time, and lets the simulation look for each: every {@code *.patch} of a folder is applied to
 * copies of the sources that it names, and what they compile to comes first on the class path of a simulation. Ends with status 1
 * when one is not found in time, or cannot be put back.
 */
public final class MutantsMain {
    private static final String ADDED = "+++ b/";

    private MutantsMain() {}

    /** Reads {@code lite.simulate.mutants}, the folder, and {@code lite.simulate.sources}, the root of the sources. */
    public static void main(String[] args) throws IOException, InterruptedException {
        Path folder = Path.of(System.getProperty("lite.simulate.mutants"));
        Path sources = Path.of(System.getProperty("lite.simulate.sources"));
        List<Path> patches;
        try (Stream<Path> files = Files.list(folder)) {
            patches = files.filter(file -> file.toString().endsWith(".patch")).sorted().toList();
        }
        int missed = 0;
        for (Path patch : patches) {
            Path work = Files.createTempDirectory("lite-mutant");
            try {
                apply(patch, sources, work);
                compile(work);
                missed += search(patch, work) ? 0 : 1;
            } finally {
                delete(work);
            }
        }
        System.out.printf("%d mutants, %d not found%n", patches.size(), missed);
        System.exit(missed > 0 ? 1 : 0);
    }

    private static void apply(Path patch, Path sources, Path work) throws IOException, InterruptedException {
        for (String line : Files.readAllLines(patch)) {
            if (line.startsWith(ADDED)) {
                Path copy = work.resolve("src").resolve(line.substring(ADDED.length()));
                Files.createDirectories(copy.getParent());
                Files.copy(sources.resolve(line.substring(ADDED.length())), copy);
            }
        }
        int status = new ProcessBuilder("git", "apply", "--recount", patch.toAbsolutePath().toString())
                .directory(work.resolve("src").toFile())
                .inheritIO()
                .start()
                .waitFor();
        if (status != 0) {
            throw new IllegalStateException(
                    "%s does not fit the sources any more: adapt it to them".formatted(patch.getFileName()));
        }
    }

    private static void compile(Path work) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<Path> files;
        try (Stream<Path> all = Files.walk(work.resolve("src"))) {
            files = all.filter(file -> file.toString().endsWith(".java")).toList();
        }
        Path classes = Files.createDirectories(work.resolve("classes"));
        List<String> options = List.of(
                "-d", classes.toString(), "-proc:none", "-nowarn", "-classpath", System.getProperty("java.class.path"));
        try (StandardJavaFileManager manager = compiler.getStandardFileManager(null, null, null)) {
            boolean compiled = compiler.getTask(
                            null, manager, null, options, null, manager.getJavaFileObjectsFromPaths(files))
                    .call();
            if (!compiled) {
                throw new IllegalStateException("a mutant does not compile: " + files);
            }
        }
    }

    private static boolean search(Path patch, Path work) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.add("-Dlite.simulate.minutes=" + System.getProperty("lite.simulate.mutant-minutes", "10"));
        command.add("-classpath");
        command.add(work.resolve("classes") + ":" + System.getProperty("java.class.path"));
        command.add(SimulateMain.class.getName());
        Path output = work.resolve("output");
        long startNs = System.nanoTime();
        int status = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start()
                .waitFor();
        long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNs);
        String broken = Files.readAllLines(output).stream()
                .filter(line -> line.contains("breaks a rule") || line.contains("without a yield point"))
                .findFirst()
                .orElse("");
        boolean found = status != 0 && !broken.isEmpty();
        System.out.printf(
                "%s %s after %d s %s%n", patch.getFileName(), found ? "is found" : "IS NOT FOUND", seconds, broken);
        return found;
    }

    private static void delete(Path folder) {
        try (Stream<Path> all = Files.walk(folder)) {
            for (Path each : all.sorted(java.util.Comparator.reverseOrder()).toList()) {
                Files.delete(each);
            }
        } catch (IOException e) {
            throw new UncheckedIOException("cannot delete " + folder, e);
        }
    }
}
