package dev.lite.simulate;

import dev.lite.simulate.tier.Mix;
import java.io.BufferedReader;
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
import org.jspecify.annotations.Nullable;

/**
 * Puts known faults back, one at a time, and lets the simulation look for each: every {@code *.patch} of a folder is applied to
 * copies of the sources that it names, and what they compile to comes first on the class path of a simulation. The first lines of
 * a patch may name the mix that is tried first, and a part of the rule that the fault breaks. Ends with status 1 when one is not
 * found in time, or cannot be put back. A seed counts only if it breaks no rule without the fault.
 */
public final class MutantsMain {
    private static final String ADDED = "+++ b/";
    private static final long FIRST_SEED = 1000;
    private static final Pattern BROKEN = Pattern.compile("^seed (\\d+)(?: breaks a rule|: a loop without).*$");
    private static final Pattern COUNTED = Pattern.compile("^seed \\d+: hash .*$");

    private MutantsMain() {}

    /**
     * A fault that is put back.
     *
     * @param mix what its histories are directed at
     * @param rule what the message of the broken rule contains
     */
    private record Mutant(Path patch, Path work, Mix mix, String rule) {
        static Mutant read(Path patch, Path work) throws IOException {
            String mix = Mix.ANY.name();
            String rule = "";
            for (String line : Files.readAllLines(patch)) {
                if (line.startsWith("Mix: ")) {
                    mix = line.substring(5).strip();
                } else if (line.startsWith("Rule: ")) {
                    rule = line.substring(6).strip();
                } else if (line.startsWith("diff ")) {
                    break;
                }
            }
            return new Mutant(patch, work, Mix.valueOf(mix), rule);
        }
    }

    /**
     * Reads {@code lite.simulate.mutants}, the folder, {@code lite.simulate.sources}, the root of the sources, and {@code
     * lite.simulate.mutant}, what the names of the patches begin with.
     */
    public static void main(String[] args) throws IOException, InterruptedException {
        Path folder = Path.of(System.getProperty("lite.simulate.mutants"));
        Path sources = Path.of(System.getProperty("lite.simulate.sources"));
        List<Path> patches = patches(folder, System.getProperty("lite.simulate.mutant", ""));
        int missed = 0;
        for (Path patch : patches) {
            Path work = Files.createTempDirectory("lite-mutant");
            try {
                apply(patch, sources, work);
                compile(work);
                missed += search(Mutant.read(patch, work)) ? 0 : 1;
            } finally {
                delete(work);
            }
        }
        System.out.printf("%d mutants, %d not found%n", patches.size(), missed);
        System.exit(missed > 0 ? 1 : 0);
    }

    /** The patches of a folder whose names begin so, sorted. */
    static List<Path> patches(Path folder, String begin) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            return files.filter(file -> file.toString().endsWith(".patch"))
                    .filter(file -> file.getFileName().toString().startsWith(begin))
                    .sorted()
                    .toList();
        }
    }

    /**
     * Applies a patch to copies of the sources that it names.
     *
     * @param sources the root of the sources
     * @param work an empty folder, for the copies
     * @throws IllegalStateException if the patch does not fit the sources
     */
    static void apply(Path patch, Path sources, Path work) throws IOException, InterruptedException {
        for (String line : Files.readAllLines(patch)) {
            if (line.startsWith(ADDED)) {
                Path copy = work.resolve("src").resolve(line.substring(ADDED.length()));
                Files.createDirectories(copy.getParent());
                Files.copy(sources.resolve(line.substring(ADDED.length())), copy);
            }
        }
        ProcessBuilder git = new ProcessBuilder(
                        "git", "apply", "--recount", patch.toAbsolutePath().toString())
                .directory(work.resolve("src").toFile())
                .inheritIO();
        // Below a repository, git would skip the copies and report success.
        git.environment().put("GIT_CEILING_DIRECTORIES", work.toAbsolutePath().toString());
        if (git.start().waitFor() != 0) {
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

    /** Whether a seed breaks a rule with the fault and none without it: first in its own mix, then in drawn ones. */
    private static boolean search(Mutant mutant) throws IOException, InterruptedException {
        double minutes = Double.parseDouble(System.getProperty("lite.simulate.mutant-minutes", "10"));
        String mutated = mutant.work.resolve("classes") + ":" + System.getProperty("java.class.path");
        Path name = mutant.patch.getFileName();
        long startNs = System.nanoTime();
        int histories = 0;
        long seed = FIRST_SEED;
        for (String mix : List.of(mutant.mix.name(), "")) {
            double end = mix.isEmpty() ? minutes : minutes / 2;
            for (double left = end; left > 0; left = end - minutesSince(startNs)) {
                Run run = simulate(mutated, seed, mix, left, mutant.rule);
                histories += run.histories;
                if (run.broken == null) {
                    break;
                }
                if (simulate(System.getProperty("java.class.path"), run.seed, mix, 0, "").broken == null) {
                    System.out.printf(
                            "%s is found by %s after %d histories, %.0f s: %s%n",
                            name,
                            mix.isEmpty() ? "a drawn mix" : mix,
                            histories,
                            60 * minutesSince(startNs),
                            run.broken);
                    return true;
                }
                System.out.printf("%s: seed %d fails without it, too: %s%n", name, run.seed, run.broken);
                seed = run.seed + 1;
            }
        }
        System.out.printf("%s IS NOT FOUND after %d histories, %.0f s%n", name, histories, 60 * minutesSince(startNs));
        return false;
    }

    private static double minutesSince(long startNs) {
        return (System.nanoTime() - startNs) / (double) TimeUnit.MINUTES.toNanos(1);
    }

    /** What came of a simulation: how many histories, and the first rule that was broken and fits, with its seed. */
    private record Run(int histories, long seed, @Nullable String broken) {}

    /**
     * Runs histories until one breaks a rule that fits.
     *
     * @param minutes how long at most; 0 for one history
     */
    private static Run simulate(String classPath, long seed, String mix, double minutes, String rule)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        command.addAll(ManagementFactory.getRuntimeMXBean().getInputArguments());
        command.add("-Dlite.simulate.seed=" + seed);
        command.add("-Dlite.simulate.mix=" + mix);
        command.add("-Dlite.simulate.histories=" + (minutes > 0 ? String.valueOf(Long.MAX_VALUE) : "1"));
        command.add("-Dlite.simulate.minutes=" + (minutes > 0 ? String.valueOf(minutes) : ""));
        command.add("-Dlite.simulate.continue=true");
        command.add("-Dlite.simulate.verbose=true");
        command.addAll(List.of("-classpath", classPath, SimulateMain.class.getName()));
        Process process = new ProcessBuilder(command).redirectErrorStream(true).start();
        int histories = 0;
        try (BufferedReader output = process.inputReader()) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                histories += COUNTED.matcher(line).matches() ? 1 : 0;
                Matcher broken = BROKEN.matcher(line);
                if (broken.matches() && line.contains(rule)) {
                    return new Run(histories, Long.parseLong(broken.group(1)), line);
                }
            }
            return new Run(histories, 0, null);
        } finally {
            process.destroyForcibly();
            int unused = process.waitFor();
        }
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
