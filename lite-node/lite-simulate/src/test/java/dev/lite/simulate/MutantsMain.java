package dev.lite.simulate;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Puts known faults back, one at a time, and lets the simulation look for each: every {@code *.patch} of a folder is applied to
 * copies of the sources that it names, and what they compile to comes first on the class path of a simulation. Ends with status 1
 * when one is not found in time, or cannot be put back. A seed counts only if it breaks no rule without the fault.
 */
public final class MutantsMain {
    private static final String ADDED = "+++ b/";
    private static final long FIRST_SEED = 1000;
    private static final Pattern BROKEN =
            Pattern.compile("^seed (\\d+)(?: breaks a rule|: a loop without).*$", Pattern.MULTILINE);

    private MutantsMain() {}

    /** Reads {@code lite.simulate.mutants}, the folder, and {@code lite.simulate.sources}, the root of the sources. */
    public static void main(String[] args) throws IOException, InterruptedException {
        Path folder = Path.of(System.getProperty("lite.simulate.mutants"));
        Path sources = Path.of(System.getProperty("lite.simulate.sources"));
        List<Path> patches;
        try (Stream<Path> files = Files.list(folder)) {
            patches = files.filter(file -> file.toString().endsWith(".patch"))
                    .sorted()
                    .toList();
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
        int status = new ProcessBuilder(
                        "git", "apply", "--recount", patch.toAbsolutePath().toString())
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

    /** Whether a seed breaks a rule with the fault and none without it. */
    private static boolean search(Path patch, Path work) throws IOException, InterruptedException {
        double minutes = Double.parseDouble(System.getProperty("lite.simulate.mutant-minutes", "10"));
        long startNs = System.nanoTime();
        String mutated = work.resolve("classes") + ":" + System.getProperty("java.class.path");
        long seed = FIRST_SEED;
        while (true) {
            double left = minutes - (System.nanoTime() - startNs) / (double) TimeUnit.MINUTES.toNanos(1);
            Matcher broken = BROKEN.matcher(left <= 0 ? "" : simulate(mutated, seed, Long.MAX_VALUE, left, work));
            long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startNs);
            if (!broken.find()) {
                System.out.printf("%s IS NOT FOUND after %d s%n", patch.getFileName(), seconds);
                return false;
            }
            seed = Long.parseLong(broken.group(1));
            String clean = simulate(System.getProperty("java.class.path"), seed, 1, minutes, work);
            if (!BROKEN.matcher(clean).find()) {
                System.out.printf("%s is found after %d s: %s%n", patch.getFileName(), seconds, broken.group());
                return true;
            }
            System.out.printf("%s: seed %d fails without it, too%n", patch.getFileName(), seed);
            seed++;
        }
    }

    private static String simulate(String classPath, long seed, long histories, double minutes, Path work)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.add("-Dlite.simulate.seed=" + seed);
        command.add("-Dlite.simulate.histories=" + histories);
        command.add("-Dlite.simulate.minutes=" + minutes);
        command.addAll(List.of("-classpath", classPath, SimulateMain.class.getName()));
        Path output = work.resolve("output");
        int unused = new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(output.toFile())
                .start()
                .waitFor();
        return Files.readString(output);
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
